/* For cppcheck, which reads no system header: macros that it must see through. Never compiled. */
#define cJSON_ArrayForEach(element, array)                                                                   \
    for ((element) = (array)->child; (element) != NULL; (element) = (element)->next)
