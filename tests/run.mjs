// Runs the built C tests and the Node tests, and ends with "N passed, M failed".
// It builds and installs nothing: make does.
//
//   node tests/run.mjs [--fast] [--only PART_OF_A_FILE_NAME] C_TEST...

import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const TESTS = dirname(fileURLToPath(import.meta.url));
const TIME_LIMIT_MS = 240_000;
const GRACE_MS = 3_000;

function options(argv) {
    const chosen = { binaries: [], fast: false, only: '' };
    for (let i = 0; i < argv.length; i++) {
        if (argv[i] === '--fast') chosen.fast = true;
        else if (argv[i] === '--only') chosen.only = argv[++i] ?? '';
        else if (argv[i].startsWith('-')) throw new Error(`unknown option ${argv[i]}: --fast, --only PART`);
        else chosen.binaries.push(resolve(argv[i]));
    }
    return chosen;
}

// The names in a folder that match, sorted; a folder that is absent holds none.
function names(folder, pattern) {
    return existsSync(folder) ? readdirSync(folder).filter((name) => pattern.test(name)).sort() : [];
}

// Runs a program in a process group of its own. When it is over, or over its time, the whole group is ended,
// so that a server which a test forgot does not outlive it.
function run(program, args) {
    return new Promise((done) => {
        const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
        const signal = (name) => {
            try {
                process.kill(-child.pid, name);
            } catch {
                // Nobody is left in the group.
            }
        };
        let stdout = '', output = '', timedOut = false, ended = false;
        const timer = setTimeout(() => {
            timedOut = true;
            signal('SIGTERM');
            setTimeout(() => signal('SIGKILL'), GRACE_MS).unref();
        }, TIME_LIMIT_MS);
        const finish = (code, reason, extra = '') => {
            if (ended) return;
            ended = true;
            running.delete(signal);
            clearTimeout(timer);
            signal('SIGKILL');
            done({ stdout, output: output + extra, code, reason, timedOut });
        };
        running.add(signal);
        child.stdout.on('data', (data) => { stdout += data; output += data; });
        child.stderr.on('data', (data) => { output += data; });
        child.on('error', (error) => finish(1, null, `${program}: ${error.message}\n`));
        // "close" waits for everybody who holds the pipes; a forgotten grandchild would keep it waiting.
        child.on('exit', (code, reason) => setTimeout(() => finish(code, reason), GRACE_MS).unref());
        child.on('close', (code, reason) => finish(code, reason));
    });
}

const running = new Set();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(name, () => {
        for (const signal of running) signal('SIGKILL');
        process.exit(1);
    });
}

// How a program ended, in words, or '' if it ended well.
function badEnd({ code, reason, timedOut }) {
    if (timedOut) return `took more than ${TIME_LIMIT_MS / 1000} s`;
    if (reason) return `ended by ${reason}`;
    return code === 0 ? '' : `exit status ${code}`;
}

// check's line of totals: "100%: Checks: 7, Failures: 0, Errors: 0".
function countCheck(result) {
    const totals = /^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$/m.exec(result.stdout);
    const [checks, failures, errors] = totals ? totals.slice(1).map(Number) : [0, 0, 0];
    const failed = failures + errors;
    const words = [];
    if (!totals) words.push('no line of totals: it crashed or ran nothing');
    else if (checks === 0) words.push('it has no test');
    const end = badEnd(result);
    if (end && failed === 0) words.push(end);
    return { passed: checks - failed, failed: failed + (words.length ? 1 : 0), words };
}

// The last lines of node's TAP: "# pass 3". What was skipped, left to do or cancelled was not shown to work.
function countNode(result) {
    const count = (word) => Number(new RegExp(`^# ${word} (\\d+)$`, 'm').exec(result.stdout)?.[1] ?? 0);
    const words = [];
    for (const word of ['cancelled', 'skipped', 'todo']) {
        if (count(word)) words.push(`${count(word)} ${word}`);
    }
    let failed = count('fail') + count('cancelled') + count('skipped') + count('todo');
    const end = badEnd(result);
    if (end && (failed === 0 || result.timedOut)) {
        words.push(end);
        failed++;
    }
    if (count('pass') + failed === 0) {
        words.push('it has no test');
        failed++;
    }
    return { passed: count('pass'), failed, words };
}

const checkFile = (path) => ({
    name: basename(path),
    start: () => run(path, []),
    count: countCheck,
});

const nodeFile = (folder) => (name) => ({
    name: `${folder}/${name}`,
    start: () => run(process.execPath, ['--test-reporter=tap', join(TESTS, folder, name)]),
    count: countNode,
});

// The files, in groups that run one after the other; within a group "atOnce" of them run beside each other. Where "again"
// is set the tests hold a server to real time, which a busy machine may miss: what failed is run once more, alone, and
// that counts. Both outcomes are shown; a fault of the server fails again.
function plan({ binaries, fast, only }) {
    const node = /\.test\.mjs$/;
    const integration = names(join(TESTS, 'integration'), node).filter((name) => !(fast && name.startsWith('fault')));
    const browser = fast ? [] : names(join(TESTS, 'browser'), node);
    const fuzz = fast ? [] : names(join(TESTS, 'fuzz'), node);
    const groups = [
        { atOnce: 2, files: binaries.map(checkFile) },
        { atOnce: 2, files: integration.map(nodeFile('integration')), again: true },
        { atOnce: 1, files: browser.map(nodeFile('browser')), again: true },
        { atOnce: 1, files: fuzz.map(nodeFile('fuzz')) },
    ];
    for (const group of groups) group.files = group.files.filter((file) => file.name.includes(only));
    return groups;
}

async function runFile(file) {
    const began = Date.now();
    const result = await file.start();
    const { passed, failed, words } = file.count(result);
    const seconds = ((Date.now() - began) / 1000).toFixed(1);
    const note = words.length ? ` (${words.join(', ')})` : '';
    console.log(`${failed ? 'FAILED' : 'ok    '} ${file.name}: ${passed} passed, ${failed} failed${note}, ${seconds} s`);
    if (failed) console.log(`${result.output.trimEnd().replace(/^/gm, '    ')}\n`);
    return { file, passed, failed };
}

async function runGroup({ atOnce, files, again }) {
    const queue = [...files];
    const results = [];
    const worker = async () => {
        while (queue.length) results.push(await runFile(queue.shift()));
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    for (const [i, { file, failed }] of results.entries()) {
        if (!again || !failed) continue;
        console.log(`once more, alone: ${file.name}`);
        results[i] = await runFile(file);
    }
    return results;
}

async function main() {
    const total = { passed: 0, failed: 0 };
    for (const group of plan(options(process.argv.slice(2)))) {
        for (const { passed, failed } of await runGroup(group)) {
            total.passed += passed;
            total.failed += failed;
        }
    }
    console.log(`${total.passed} passed, ${total.failed} failed`);
    process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
}

await main();
