# ratelimitd: `make help` lists the targets.
# Nothing here may need a compiler or pkg-config while the file is read: `make run` installs them first.

VERSION := 1.0.0

PREFIX  ?= /usr/local
DESTDIR ?=
SANITIZE ?=
WERROR   ?=
ARGS     ?=
ONLY     ?=

# Parallel unless somebody above decided on it already.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
MAKEFLAGS += --no-print-directory --no-builtin-rules
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

# --- where things go: a folder per compiler and sanitizer, so that one never links with objects of the other ---

comma := ,
empty :=
space := $(empty) $(empty)
cc_suffix := $(if $(filter-out default,$(origin CC)),$(addprefix -,$(subst $(space),-,$(notdir $(CC)))))
VARIANT ?= $(if $(SANITIZE),$(subst $(comma),-,$(SANITIZE)),release)$(cc_suffix)
OUT := build/$(VARIANT)
GEN := build/gen
BIN := $(OUT)/ratelimitd

# --- flags ---

ifdef SANITIZE
CFLAGS ?= -O1 -g
hardening := -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
link_hardening := -fsanitize=$(SANITIZE)
else
CFLAGS ?= -O2 -g
fortify := $(if $(findstring -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
hardening := -fstack-protector-strong $(fortify) -fPIE
link_hardening := -pie -Wl,-z,relro,-z,now
endif

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef $(if $(WERROR),-Werror)
DEFINES  := -D_GNU_SOURCE -DRATELIMITD_VERSION='"$(VERSION)"' -Isrc

# Asked for once, and only when something is compiled. -isystem keeps our warnings out of other people's headers.
pkg = $(shell pkg-config $(1))$(if $(filter-out 0,$(.SHELLSTATUS)),$(error libraries are missing: make install-deps))
pkg_cflags = $(patsubst -I%,-isystem %,$(filter-out -I/usr/include,$(call pkg,--cflags $(1))))
PACKAGES := libmicrohttpd hiredis libcjson gnutls
LIB_CFLAGS  = $(eval LIB_CFLAGS := $(call pkg_cflags,$(PACKAGES)))$(LIB_CFLAGS)
LIB_LIBS    = $(eval LIB_LIBS := $(call pkg,--libs $(PACKAGES)) -lev -lpthread)$(LIB_LIBS)
TEST_CFLAGS = $(eval TEST_CFLAGS := $(call pkg_cflags,check))$(TEST_CFLAGS)
TEST_LIBS   = $(eval TEST_LIBS := $(call pkg,--libs check))$(TEST_LIBS)

own_flags := -std=c11 -pthread $(DEFINES) $(WARNINGS) $(hardening)
COMPILE = $(CC) $(own_flags) $(LIB_CFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP
LINK    = $(CC) -pthread $(CFLAGS) $(link_hardening) $(LDFLAGS)

# V=1 shows the commands.
Q   := $(if $(V),,@)
say  = $(if $(V),,@echo '  $@')

# --- what is built from what ---

SOURCES   := $(sort $(wildcard src/*/*.c))
GENERATED := $(GEN)/lua_scripts.c $(GEN)/config_script.c $(GEN)/site_files.c
CORE      := $(SOURCES:src/%.c=$(OUT)/obj/%.o) $(GENERATED:$(GEN)/%.c=$(OUT)/obj/gen/%.o)
LUA       := $(sort $(wildcard lua/*.lua))
LUA_ALGORITHMS := $(filter-out prelude decide_%,$(LUA:lua/%.lua=%))
CONFIG_LUA := $(sort $(wildcard lua/config/*.lua))
STATIC    := $(sort $(wildcard static/*))
TEST_SOURCES := $(sort $(wildcard tests/unit/test_*.c tests/property/*.c))
# What else lies in tests/unit is shared by the tests.
TEST_SHARED  := $(sort $(filter-out $(TEST_SOURCES),$(wildcard tests/unit/*.c)))
TEST_BINS    := $(addprefix $(OUT)/tests/,$(notdir $(TEST_SOURCES:.c=)))

.PHONY: all
all: $(BIN) ## build build/release/ratelimitd (SANITIZE=address,undefined or thread, CC=clang: a folder of their own)
	@:

$(BIN): $(OUT)/obj/main.o $(CORE) $(OUT)/objects.list
	$(say)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LIB_LIBS)

# All but main, for the tests: each links what it uses of it.
$(OUT)/core.a: $(CORE) $(OUT)/objects.list
	$(say)
	$(Q)rm -f $@ && $(AR) rcs $@ $(CORE)

$(OUT)/obj/%.o: src/%.c $(OUT)/flags
	@mkdir -p $(@D)
	$(say)
	$(Q)$(COMPILE) -c -o $@ $<

$(OUT)/obj/gen/%.o: $(GEN)/%.c $(OUT)/flags
	@mkdir -p $(@D)
	$(say)
	$(Q)$(COMPILE) -c -o $@ $<

$(GEN)/lua_scripts.c: src/tools/embed_scripts.sh src/tools/lua_text.sh $(GEN)/lua.list $(LUA)
	$(say)
	$(Q)sh $< lua $(LUA_ALGORITHMS) > $@

$(GEN)/config_script.c: src/tools/embed_lua.sh src/tools/lua_text.sh $(GEN)/config_lua.list $(CONFIG_LUA)
	$(say)
	$(Q)sh $< config/config_script.h config $(CONFIG_LUA) > $@

$(GEN)/site_files.c: src/tools/embed_site.sh src/tools/squeeze_js.awk $(GEN)/static.list $(STATIC)
	$(say)
	$(Q)sh $< $(STATIC) > $@

# Files that change only when what they say changes: other flags, a new or deleted file.
$(OUT)/flags: said = $(CC) $(own_flags) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)
$(OUT)/objects.list: said = $(CORE)
$(GEN)/lua.list: said = $(LUA)
$(GEN)/config_lua.list: said = $(CONFIG_LUA)
$(GEN)/static.list: said = $(STATIC)
$(OUT)/flags $(OUT)/objects.list $(GEN)/lua.list $(GEN)/config_lua.list $(GEN)/static.list: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(said))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(said))' > $@
.PHONY: FORCE
FORCE:

# --- tests ---

.PHONY: tests
tests: $(TEST_BINS) ## build the C tests without running them
	@:

$(OUT)/obj/tests/%.o: tests/%.c $(OUT)/flags
	@mkdir -p $(@D)
	$(say)
	$(Q)$(COMPILE) $(TEST_CFLAGS) -Itests -c -o $@ $<

shared_objects := $(TEST_SHARED:%.c=$(OUT)/obj/%.o)
define test_binary
$(OUT)/tests/$(notdir $(1:.c=)): $(OUT)/obj/$(1:.c=.o) $(shared_objects) $(OUT)/core.a
	@mkdir -p $$(@D)
	$$(say)
	$$(Q)$$(LINK) -o $$@ $$^ $$(TEST_LIBS) $$(LIB_LIBS)
endef
$(foreach source,$(TEST_SOURCES),$(eval $(call test_binary,$(source))))

ifdef SANITIZE
export ASAN_OPTIONS  ?= halt_on_error=1:detect_leaks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS ?= halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS  ?= halt_on_error=1:second_deadlock_stack=1
export CK_FORK ?= no
endif

run_tests = RATELIMITD_BIN='$(abspath $(BIN))' node tests/run.mjs $(if $(ONLY),--only '$(ONLY)')

.PHONY: test
test: ## install what tests need, build, run all of them (ONLY=pattern: those whose file name has it)
	@$(INSTALL_DEPS) build test
	@$(MAKE) all tests fuzzers
	@$(run_tests) $(TEST_BINS)

.PHONY: test-fast
test-fast: ## the same without browser tests, fault tests and fuzzers
	@$(INSTALL_DEPS) build test
	@$(MAKE) all tests
	@$(run_tests) --fast $(TEST_BINS)

# --- fuzzers: clang's, a folder of their own ---

FUZZ_SECONDS ?= 30
FUZZ_SANITIZE := fuzzer-no-link,address,undefined
FUZZ_SOURCES  := $(sort $(wildcard tests/fuzz/*.c))
FUZZ_BINS     := $(addprefix $(OUT)/fuzz/,$(notdir $(FUZZ_SOURCES:.c=)))
fuzz_variant  := VARIANT=fuzz CC=clang SANITIZE=$(FUZZ_SANITIZE)

define fuzz_binary
$(OUT)/fuzz/$(notdir $(1:.c=)): $(OUT)/obj/$(1:.c=.o) $(OUT)/core.a
	@mkdir -p $$(@D)
	$$(say)
	$$(Q)$$(LINK) -fsanitize=fuzzer -o $$@ $$^ $$(LIB_LIBS)
endef
$(foreach source,$(FUZZ_SOURCES),$(eval $(call fuzz_binary,$(source))))

.PHONY: fuzzers fuzz
fuzzers:
	@$(MAKE) $(fuzz_variant) fuzz-binaries

.PHONY: fuzz-binaries
fuzz-binaries: $(FUZZ_BINS)
	@:

fuzz: ## fuzz every parser, one after the other (FUZZ_SECONDS=30 each, ONLY=pattern)
	@$(INSTALL_DEPS) build test
	@$(MAKE) fuzzers
	@FUZZ_SECONDS='$(FUZZ_SECONDS)' FUZZ_JOBS=1 FUZZ_ONLY='$(ONLY)' node --test-reporter=spec tests/fuzz/fuzz.test.mjs

.PHONY: soak
soak: ## mixed traffic and faults for SOAK_SECONDS (600), then throughput over two minutes
	@$(INSTALL_DEPS) build test
	@$(MAKE) all
	@RATELIMITD_BIN='$(abspath $(BIN))' node --test-reporter=spec tests/soak/soak.mjs

.PHONY: soak-hostile
soak-hostile: ## good and hostile clients at full speed for HOSTILE_SECONDS (60); with SANITIZE=address,undefined too
	@$(INSTALL_DEPS) build test
	@$(MAKE) all
	@RATELIMITD_BIN='$(abspath $(BIN))' node --test-reporter=spec tests/soak/hostile.mjs

.PHONY: bench
bench: ## compare with other limiters, on a quiet machine, in 8 minutes (BENCH_ROUNDS=5, BENCH_SECONDS=3, BENCH_OUT=build/bench.json)
	@$(INSTALL_DEPS) build bench
	@$(MAKE) all
	@RATELIMITD_BIN='$(abspath $(BIN))' node tests/bench/bench.mjs

.PHONY: bench-scale
bench-scale: ## what a decision costs as keys, connections, threads and policies grow; draws docs/images/scale.svg anew
	@$(INSTALL_DEPS) build bench
	@$(MAKE) all
	@RATELIMITD_BIN='$(abspath $(BIN))' node tests/bench/growth.mjs

.PHONY: instructions
instructions: ## count a decision's instructions: the server's by workload, the scripts' in Redis
	@$(INSTALL_DEPS) build bench
	@$(MAKE) all
	@RATELIMITD_BIN='$(abspath $(BIN))' node tests/bench/instructions.mjs
	@node tests/bench/script_instructions.mjs

# By another name: a recipe that has make's own variable in it is carried out even by `make -n`.
make_program := $(MAKE)

.PHONY: lint
lint: ## warnings of gcc and clang, format, static analysis, layers, lengths
	@$(INSTALL_DEPS) build test lint
	@LINT_MAKE='$(make_program)' LINT_FLAGS='$(subst ','\'',-std=c11 $(DEFINES))' bash tests/lint/run.sh

.PHONY: format
format: ## put the C files into the form that lint wants
	clang-format -i $(wildcard src/*.c src/*/*.[ch] tests/*/*.[ch])

# --- run, install, clean ---

INSTALL_DEPS = sh tests/setup/install.sh $(if $(NO_INSTALL),--check)

.PHONY: install-deps
install-deps: ## install what building and running need (NO_INSTALL=1: only name what is missing)
	@$(INSTALL_DEPS) build

.PHONY: run
run: ## install what is missing, build, start in the foreground (ARGS='--port 9000'; NO_INSTALL=1: only check)
	@$(INSTALL_DEPS) build
	@$(MAKE) all
	@exec sh src/tools/run.sh $(BIN) $(ARGS)

documents := $(DESTDIR)$(PREFIX)/share/doc/ratelimitd

.PHONY: install
install: all ## install below PREFIX (/usr/local), with DESTDIR before it
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(documents)/docs/images'
	install -m 755 $(BIN) '$(DESTDIR)$(PREFIX)/bin/ratelimitd'
	install -m 644 LICENSE README.md CHANGELOG.md '$(documents)/'
	install -m 644 $(wildcard docs/*.md) '$(documents)/docs/'
	install -m 644 $(wildcard docs/images/*) '$(documents)/docs/images/'

.PHONY: uninstall
uninstall: ## remove what install put there
	rm -f '$(DESTDIR)$(PREFIX)/bin/ratelimitd'
	rm -rf '$(documents)'

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s  %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

-include $(wildcard $(OUT)/obj/*.d $(OUT)/obj/*/*.d $(OUT)/obj/*/*/*.d)
