#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Every gate refuses a bad sample in a tree that is clean otherwise: a gate that never fails is none.

setup_file() {
    ci=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
    export ci
}

setup() {
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree"
    cp "$ci/../.clang-format" "$ci/../.clang-tidy" "$tree"
    file Makefile '# SPDX-License-Identifier: BSD-3-Clause' 'PKGS := jansson' \
        'CORE_MODULES := protocol/wire protocol/tree' 'HOST_MODULES := host/net host/pmix host' \
        'TOOL_MODULES := tools/cli'
    c_file base/one/one.h 'int one_get(void);'
    c_file base/one/one.c '#include "base/one/one.h"' '' 'int one_get(void)' '{' '    return 1;' '}'
    c_file api/api.h '#include "base/one/one.h"'
    c_file dvm/protocol/wire/wire.h '#include "api/api.h"' '#include "base/one/one.h"'
    c_file dvm/protocol/wire/wire_private.h
    c_file dvm/protocol/tree/tree.h '#include "dvm/protocol/wire/wire.h"'
    c_file dvm/host/net/net.h '#include "dvm/protocol/tree/tree.h"'
    c_file dvm/sim/sim.h '#include "dvm/protocol/tree/tree.h"'
    c_file operator/kube/kube.h '#include "api/api.h"'
    c_file dvm/protocol/wire/test/help.h '#include "dvm/protocol/wire/wire_private.h"' '#include "dvm/sim/sim.h"'
}

# file <path> <line>...
file() {
    mkdir -p "$(dirname "$tree/$1")"
    printf '%s\n' "${@:2}" >"$tree/$1"
}

c_file() {
    file "$1" '/* SPDX-License-Identifier: BSD-3-Clause */' "${@:2}"
}

lint() {
    LINT_ROOT=$tree "$ci/lint.sh" "$@"
}

# refused <gate> <expected text>
refused() {
    run lint "$1"
    [ "$status" -eq 1 ] || {
        echo "exit $status, said: $output"
        return 1
    }
    [[ $output == *"$2"* ]] || {
        echo "not said: $2; but: $output"
        return 1
    }
}

passes() {
    run lint "$@"
    [ "$status" -eq 0 ] || {
        echo "exit $status, said: $output"
        return 1
    }
}

@test "a clean tree passes every gate" {
    passes
}

@test "a gate that does not exist is an error" {
    run lint formt
    [ "$status" -eq 2 ]
}

@test "a tree without files is an error" {
    mkdir "$tree/empty"
    LINT_PATHS=empty run lint format
    [ "$status" -eq 2 ]
}

@test "a Makefile without the modules is an error" {
    file Makefile '# SPDX-License-Identifier: BSD-3-Clause'
    run lint pure
    [ "$status" -eq 2 ]
}

@test "all gates run and all that refuse are named" {
    c_file base/one/bad.c '#include "dvm/protocol/wire/wire.h"' 'int  one ( void );'
    run lint format layers spdx
    [ "$status" -eq 1 ]
    [[ $output == *"lint: refused by: format layers"* ]]
}

@test "gates pass where LINT_PATHS leaves them no file" {
    LINT_PATHS=dvm/host passes names style
    LINT_PATHS=Makefile passes format layers pure banned state journal sizes
}

@test "LINT_PATHS narrows what is looked at" {
    c_file base/one/bad.c 'int  one ( void );'
    LINT_PATHS="api dvm" passes format
    LINT_PATHS="base/one/bad.c" refused format bad.c
}

@test "format: another style is refused" {
    c_file base/one/bad.h 'int  one ( void );'
    refused format "base/one/bad.h: to do: clang-format"
}

@test "layers: base does not include api" {
    c_file base/one/bad.c '#include "api/api.h"'
    refused layers "base/one/bad.c:2: api/api.h: the layer api is above base/one"
}

@test "layers: api does not include dvm" {
    c_file api/bad.c '#include "dvm/protocol/wire/wire.h"'
    refused layers "the layer dvm/protocol/wire is above api"
}

@test "layers: a core module does not include a later one" {
    c_file dvm/protocol/wire/bad.c '#include "dvm/protocol/tree/tree.h"'
    refused layers "the layer dvm/protocol/tree is above dvm/protocol/wire"
}

@test "layers: the core does not include a host module" {
    c_file dvm/protocol/tree/bad.c '#include "dvm/host/net/net.h"'
    refused layers "the layer dvm/host/net is above dvm/protocol/tree"
}

@test "layers: a host module does not include a later one" {
    c_file dvm/host/pmix/pmix.h
    c_file dvm/host/net/bad.c '#include "dvm/host/pmix/pmix.h"'
    refused layers "the layer dvm/host/pmix is above dvm/host/net"
}

@test "layers: the simulation does not include the host" {
    c_file dvm/sim/bad.c '#include "dvm/host/net/net.h"'
    refused layers "the layer dvm/host/net is above dvm/sim"
}

@test "layers: only tests include the simulation" {
    c_file dvm/host/net/bad.c '#include "dvm/sim/sim.h"'
    refused layers "dvm/sim is for tests only"
}

@test "layers: the operator does not include dvm" {
    c_file operator/kube/bad.c '#include "dvm/protocol/wire/wire.h"'
    refused layers "dvm/ and operator/ do not know each other"
}

@test "layers: dvm does not include the operator" {
    c_file dvm/host/net/bad.c '#include "operator/kube/kube.h"'
    refused layers "dvm/ and operator/ do not know each other"
}

@test "layers: base does not include the operator" {
    c_file base/one/bad.c '#include "operator/kube/kube.h"'
    refused layers "the layer operator/kube is above base/one"
}

@test "layers: a module that no list names is refused" {
    c_file dvm/odd/odd.c '#include "base/one/one.h"'
    refused layers "the folder dvm/odd is in no list of the Makefile"
}

@test "layers: a private header stays in its folder" {
    c_file dvm/protocol/tree/bad.c '#include "dvm/protocol/wire/wire_private.h"'
    refused layers "a private header of dvm/protocol/wire"
}

@test "layers: a test's header is for tests" {
    c_file dvm/protocol/wire/bad.c '#include "dvm/protocol/wire/test/help.h"'
    refused layers "a header for tests only"
}

@test "layers: a path that does not begin at the root is refused" {
    c_file dvm/protocol/wire/bad.c '#  include "wire.h"'
    refused layers "write the path from the root of the tree"
}

@test "layers: folders of base do not include each other in a circle" {
    c_file base/two/two.h '#include "base/one/one.h"'
    c_file base/one/bad.c '#include "base/two/two.h"'
    refused layers "folders that include each other:"
    [[ $output == *base/one* ]] && [[ $output == *base/two* ]]
}

@test "layers: folders of the operator do not include each other in a circle" {
    c_file operator/cache/cache.h '#include "operator/kube/kube.h"'
    c_file operator/kube/bad.c '#include "operator/cache/cache.h"'
    refused layers "folders that include each other:"
}

@test "layers: daemon.c and the programs include any part" {
    c_file dvm/host/daemon.h '#include "dvm/host/net/net.h"' '#include "dvm/protocol/tree/tree.h"'
    c_file dvm/bin/prted.c '#include "dvm/host/daemon.h"' '#include "dvm/host/net/net.h"'
    passes layers
}

services_tree() {
    file Makefile '# SPDX-License-Identifier: BSD-3-Clause' 'PKGS := jansson' 'CORE_MODULES := protocol/wire protocol/tree' \
        'HOST_MODULES := host/net host/env host/ranks host/clients host/services host' 'TOOL_MODULES := tools/cli'
    c_file dvm/host/env/host_env.h
    c_file dvm/host/ranks/ranks.h '#include "dvm/host/env/host_env.h"'
    c_file dvm/host/services/events.h '#include "dvm/host/env/host_env.h"'
    c_file dvm/host/services/queries.h '#include "dvm/host/env/host_env.h"'
    c_file dvm/host/services/queries.c '#include "dvm/host/services/queries.h"' '#include "dvm/host/services/queries_private.h"'
    c_file dvm/host/services/queries_private.h
    c_file dvm/host/host.c '#include "dvm/host/services/queries.h"' '#include "dvm/host/services/events.h"' \
        '#include "dvm/host/ranks/ranks.h"'
}

@test "layers: host.c joins services, each of which includes its own headers" {
    services_tree
    passes layers
}

@test "layers: a service that includes another service's header is refused" {
    services_tree
    c_file dvm/host/services/bad.c '#include "dvm/host/services/events.h"'
    refused layers "dvm/host/services/bad.c:2: dvm/host/services/events.h: the service bad names another one"
}

@test "layers: services and ranks do not include each other" {
    services_tree
    c_file dvm/host/services/bad.c '#include "dvm/host/ranks/ranks.h"'
    refused layers "a service of dvm/host/services names one of dvm/host/ranks"
}

@test "layers: a service that includes a header of the host is refused" {
    services_tree
    c_file dvm/host/host.h
    c_file dvm/host/services/bad.c '#include "dvm/host/host.h"'
    refused layers "the layer dvm/host is above dvm/host/services"
}

@test "pure: the core includes no header of the outside world" {
    local header
    for header in '<event2/event.h>' '<sys/socket.h>' '<pmix.h>' '<pmix_server.h>' '<time.h>' \
        '<unistd.h>' '<sys/time.h>' '<pthread.h>' '<fcntl.h>' '"base/loop/loop.h"'; do
        c_file dvm/protocol/tree/bad.c "#include $header"
        refused pure "dvm/protocol/tree/bad.c:2:"
    done
}

@test "pure: the core writes to no stream" {
    c_file dvm/protocol/wire/bad.c 'void say(void)' '{' '    printf("x");' '}'
    refused pure "dvm/protocol/wire/bad.c:4:"
    c_file dvm/protocol/wire/bad.c 'void dump(FILE *out);'
    refused pure "dvm/protocol/wire/bad.c:2:"
}

@test "pure: format attributes, members, texts and comments pass" {
    c_file dvm/protocol/wire/good.c '/* printf("x"), FILE */' 'void f(int x, ...) __attribute__((format(printf, 1, 2)));' \
        'int g = x->printf(1) + my_printf(2) + h("FILE printf(");'
    passes pure
}

@test "pure: the host and tests may touch the world" {
    c_file dvm/host/net/good.c '#include <sys/socket.h>'
    c_file dvm/protocol/wire/test/good.c '#include <unistd.h>'
    passes pure
}

@test "banned: every banned function is refused" {
    local name
    for name in strcpy strcat sprintf vsprintf gets atoi atol strtok system popen sleep usleep nanosleep; do
        c_file base/one/bad.c "    $name(a, b);"
        refused banned "base/one/bad.c:2:    $name(a, b);"
    done
}

@test "banned: a call after a comment with an apostrophe is seen" {
    c_file base/one/bad.c "/* it's */ strcpy(a, 'b');"
    refused banned "base/one/bad.c:2:"
}

@test "banned: a call after a comment over two lines is seen" {
    c_file base/one/bad.c '/* "one' ' two */ a = "/*" + strtok (b);'
    refused banned "base/one/bad.c:3:"
}

@test "banned: longer names, members, comments and texts pass" {
    c_file base/one/good.c '/* strcpy(a) */ // system(b)' 'my_strcpy(a); strtok_r(b); x->gets(c);' \
        'f("system(\"x\") popen(");' "g('\"'); /* sprintf( */"
    passes banned
}

@test "banned: the reconciler warns about a cluster through reconcile_warn() alone" {
    c_file operator/reconcile/bad.c '    log_warn("no object cluster=%s", key);'
    refused banned "operator/reconcile/bad.c:2:"
    c_file operator/reconcile/bad.c '    reconcile_warn(e, "no object", "name=%s", name);'
    c_file operator/reconcile/announce.c '    log_warn("%s cluster=%s", what, e->key);'
    c_file operator/kube/good.c '    log_error("no server");'
    passes banned
}

@test "span: a bare difference of times in a delay is refused" {
    local line
    for line in 'loop_timer_arm(t, due - now);' 'queue_add_after(q, key, (uint64_t)(e->due_ms - now));' 'plan_again(d, left - 1);'; do
        c_file base/one/bad.c "    $line"
        refused span "base/one/bad.c:2:    $line"
    done
}

@test "span: in the operator every difference of times is made by span_ms()" {
    local line
    for line in 'uint64_t left = due_ms - now_ms;' 'x = loop_now_ms(loop) - since;' 'x = (uint64_t)(s->end_ms - r->in.now_ms);' \
        'if (MAX_MS - pod->age_ms > 0)' 'return loop_now_ms(loop) -'; do
        c_file operator/kube/bad.c "    $line"
        refused span "operator/kube/bad.c:2:    $line"
    done
    c_file operator/kube/bad.c '    loop_timer_arm(t, span_ms(now_ms, due_ms));' '    x = end_ms - span_ms(a_ms, b_ms) / 3;' \
        '    n = size - 1;' '    /* due_ms - now_ms */'
    passes span
    c_file dvm/host/net/good.c '    x = due_ms - now_ms;'
    passes span
}

@test "memory: an allocation that may return NULL is refused" {
    local name
    for name in malloc calloc realloc aligned_alloc reallocarray posix_memalign strdup strndup asprintf vasprintf; do
        c_file base/one/bad.c "    p = $name(a, b);"
        refused memory "base/one/bad.c:2:    p = $name(a, b);"
    done
    c_file base/one/bad.c '    f = open_memstream(&text, &len);'
    refused memory "base/one/bad.c:2:"
}

@test "memory: a function of hwloc that makes a bitmap longer is refused" {
    local name
    for name in alloc alloc_full dup copy set set_range clr or and andnot not list_sscanf list_asprintf from_ulong; do
        c_file dvm/protocol/tree/bad.c "    (void)hwloc_bitmap_$name(a, b);"
        refused memory "dvm/protocol/tree/bad.c:2:"
    done
}

@test "memory: uthash with its own end of the program is refused" {
    c_file base/one/bad.h '#include <uthash.h>'
    refused memory "base/one/bad.h:2:"
}

@test "memory: functions that end the program, those that allocate nothing, and tests pass" {
    c_file base/one/good.c '    p = xmalloc(n); q = xstrdup(s); x->calloc(n); bitmap_set(b, 1);' \
        '    hwloc_bitmap_free(b); hwloc_bitmap_isset(b, 1); hwloc_bitmap_zero(b); /* malloc(n) */'
    c_file base/one/test/good.c '#include <uthash.h>' '    p = malloc(n); b = hwloc_bitmap_alloc();'
    c_file base/buf/alloc.c '    p = malloc(n);'
    c_file base/bitmap/bitmap.c '    b = hwloc_bitmap_alloc();'
    c_file base/heap/hash.h '#include <uthash.h>'
    passes memory
}

@test "state: an exported variable is refused" {
    c_file base/one/bad.h 'extern int counter;'
    refused state "base/one/bad.h:2:"
    c_file base/one/bad.h 'extern const char *name;'
    refused state "base/one/bad.h:2:"
}

@test "state: an exported constant passes" {
    c_file base/one/good.h 'extern const struct fsm machine;' 'extern const char *const name;' 'extern int f(int *p);'
    passes state
}

@test "journal: a change of the head's members outside their fold is refused" {
    c_file dvm/protocol/head/resize/bad.c 'void go(struct members *m)' '{' '    member_step(members_entry(m, 1), 2, 0);' '}'
    refused journal "dvm/protocol/head/resize/bad.c:4:"
    rm "$tree/dvm/protocol/head/resize/bad.c"
    c_file dvm/protocol/head/members/roster.c 'void go(struct members *m)' '{' '    member_step(members_entry(m, 1), 2, 0);' '}'
    c_file dvm/protocol/core/apply.c 'void go(struct members *m)' '{' '    members_add(m, 0, 0);' '}'
    passes journal
}

@test "journal: a campaign that is not constant is refused outside its fold" {
    c_file dvm/protocol/head/resize/bad.c 'static int go(struct campaign *c)' '{' '    const struct campaign *d = c;' '}'
    refused journal "dvm/protocol/head/resize/bad.c:2:"
    c_file dvm/protocol/head/resize/bad.c 'static int go(const struct campaign *c)' '{' '    struct campaign *d = 0;' '}'
    refused journal "dvm/protocol/head/resize/bad.c:4:"
    rm "$tree/dvm/protocol/head/resize/bad.c"
    c_file dvm/protocol/head/resize/campaign_table.c 'int go(struct campaign *c)' '{' '}'
    c_file dvm/protocol/head/resize/good.c 'static int go(const struct campaign *c, struct campaign *draft)' '{' '}'
    passes journal
}

@test "names: an exported function that does not begin with the noun of its place is refused" {
    c_file operator/kube/bad.h 'int apply_patch(void);'
    c_file operator/kube/bad.c '#include "operator/kube/bad.h"' '' 'int apply_patch(void)' '{' '    return 1;' '}'
    refused names "operator/kube/bad.c:4: apply_patch: an exported function begins with the noun"
    [[ $output == *"1 functions of "* ]]
}

@test "names: a function that only looks like the noun of its place is refused" {
    c_file operator/kube/bad.c 'int kubernetes_go(void);' 'int kubernetes_go(void)' '{' '    return 1;' '}'
    refused names kubernetes_go
    c_file operator/kube/bad.c 'int kube(void);' 'int kube(void)' '{' '    return 1;' '}'
    refused names "kube:"
}

@test "names: a static function of one word is refused" {
    c_file base/one/bad.c 'static int drop(void)' '{' '    return 1;' '}'
    refused names "base/one/bad.c:2: drop: a static function says what it does and to what"
}

@test "names: nouns of file, folder and header pass, and names of tests" {
    c_file operator/kube/pods.h 'int pod_count(void);'
    c_file operator/kube/list.c '#include "operator/kube/pods.h"' 'static int count_pods(void)' '{' '    return 1;' '}' \
        'int pod_count(void)' '{' '    return count_pods();' '}' \
        'int kube_list_one(void)' '{' '    return 1;' '}' 'int list_two(void)' '{' '    return 2;' '}'
    c_file base/one/test/test_one.c 'static int works(void)' '{' '    return 1;' '}'
    passes names
}

# styled <line>...: a file with these lines in a function
styled() {
    c_file base/one/bad.c 'int one_two(void)' '{' "$@" '}'
}

@test "style: a result of strcmp that is not compared with 0 is refused" {
    styled '    if (!strcmp(a, b))' '        go();'
    refused style "base/one/bad.c:4: if (!strcmp(a, b))  <- compare its result with 0"
    styled '    if (x && strncmp(a, b, 3))' '        go();'
    refused style "compare its result with 0"
    styled '    return strcmp(get(a, b),' '                  c)' '               ? 1' '               : 2;'
    refused style "compare its result with 0"
}

@test "style: compared, returned and handed on results of strcmp pass" {
    styled '    if (strcmp(a, b) == 0 || 0 < strcmp(a,' '                                        b) != 1)' '        go();' \
        '    return strcmp(a, b);'
    passes style
}

@test "style: a loop in a loop without braces is refused" {
    styled '    for (;;)' '        if (x)' '            go();'
    refused style "base/one/bad.c:4: for (;;)  <- a body that is not one simple statement has braces"
}

@test "style: a simple statement in braces is refused" {
    styled '    if (x) {' '        go(a,' '           b);' '    }'
    refused style "a body of one simple statement has no braces"
}

@test "style: an if with braces on one branch is refused" {
    styled '    if (x) {' '        go();' '        run();' '    } else' '        go();'
    refused style "braces on all branches or on none"
    styled '    if (x)' '        go();' '    else {' '        go();' '        run();' '    }'
    refused style "braces on all branches or on none"
}

@test "style: a loop macro without braces is refused" {
    styled '    HASH_ITER(hh, all, one, next)' '    go(one);'
    refused style "a loop macro has braces"
}

@test "style: a statement right after the declarations is refused" {
    styled '    struct one *o = find(' '        1);' '    /* why */' '    go(o);'
    refused style "base/one/bad.c:7: go(o);  <- a blank line goes before the first statement"
}

@test "style: a cleanup macro after the name is refused, and the attribute itself" {
    styled '    char *text FREE_AUTO = NULL;' '' '    go(text);'
    refused style "the macro of a cleanup attribute stands before the type"
    styled '    __attribute__((cleanup(free_it))) char *text = NULL;' '' '    go(text);'
    refused style "the macro of a cleanup attribute stands before the type"
}

@test "style: sizeof without parentheses is refused" {
    styled '    return sizeof *x;'
    refused style "sizeof has parentheses"
}

@test "style: good samples pass, and so do files that are not C" {
    styled '    FREE_AUTO char *text = NULL;' '    struct one o = {' '        .a = sizeof(int), /* !strcmp(a, b) */' '    };' '' \
        '    if (x) {' '        go("else {");' '    } else if (y) {' '        int z = 1;' '' '        run(z);' '    }' \
        '    for (;;) {' '        if (x)' '            go();' '    }' '    if (x)' '        go(a,' '           b);' \
        '    else' '        run();' '    HASH_ITER(hh, all, one, next)' '    {' '        go(one);' '    }' \
        '    do {' '        go();' '    } while (x);' '    while (x)' '        ;'
    passes style
}

@test "sizes: a file of 801 lines is refused" {
    c_file base/one/bad.c
    yes '' | head -n 800 >>"$tree/base/one/bad.c"
    refused sizes "base/one/bad.c: 801 lines"
}

@test "spdx: a source without the line is refused" {
    file base/one/bad.c '/* nothing */'
    refused spdx "base/one/bad.c: no SPDX line"
}

@test "spdx: a script without an ending and without the line is refused" {
    file tool '#!/usr/bin/env bash'
    refused spdx "tool: no SPDX line"
}

@test "shell: a script that shellcheck refuses is refused" {
    # shellcheck disable=SC2016
    file bad.sh '#!/usr/bin/env bash' '# SPDX-License-Identifier: BSD-3-Clause' 'rm $1'
    refused shell SC2086
}

@test "shell: a script without an ending is looked at" {
    # shellcheck disable=SC2016
    file tool '#!/bin/sh' 'rm $1'
    refused shell SC2086
}

@test "tidy: a function of more than 100 lines is refused" {
    {
        printf '%s\n' '/* SPDX */' 'int one(int x);' 'int one(int x)' '{'
        yes '    x++;' | head -n 100
        printf '%s\n' '    return x;' '}'
    } >"$tree/base/one/bad.c"
    refused tidy readability-function-size
}

@test "tidy: a null pointer that is followed is refused" {
    c_file base/one/bad.c 'int one(int *p);' 'int one(int *p)' '{' '    if (!p)' '        return *p;' '    return 0;' '}'
    refused tidy core.NullDereference
}

@test "tidy: a number that is converted without a check is refused" {
    c_file base/one/bad.c '#include <stdio.h>' 'int one(const char *s);' 'int one(const char *s)' '{' '    int x = 0;' \
        '    if (sscanf(s, "%d", &x) != 1)' '        return 0;' '    return x;' '}'
    refused tidy cert-err34-c
}

@test "tidy: a variable that is exported without a header is refused" {
    c_file base/one/bad.c 'int counter;'
    refused tidy missing-variable-declarations
}

@test "tidy: a file that does not compile is refused" {
    c_file base/one/bad.c '#include "base/one/nothing.h"'
    refused tidy "base/one/nothing.h: No such file"
}

@test "tidy: a finding in a header is refused" {
    c_file base/one/bad.h 'static inline int two(int *p)' '{' '    return sizeof(p) == sizeof(p);' '}'
    c_file base/one/bad.c '#include "base/one/bad.h"'
    refused tidy "base/one/bad.h"
}

@test "tidy: a file that passed is looked at again when its header changes" {
    passes tidy
    c_file base/one/one.h 'int one_get(int x);'
    refused tidy "base/one/one.c"
}

@test "tidy: a file that passed is looked at again when the checks change" {
    c_file base/one/odd.c '#include "base/one/one.h"' 'static int two(void)' '{' '    return 2;' '}' \
        'int one(void)' '{' '    return two() ? 1 : 1 + 0;' '}'
    passes tidy
    sed -i "s/value: '100'/value: '0'/" "$tree/.clang-tidy"
    refused tidy "base/one/odd.c"
}

@test "tidy: lookups and deletions of uthash pass" {
    c_file base/one/good.c '#include <stdlib.h>' '#include <uthash.h>' 'struct key {' '    int a;' '    int b;' '};' \
        'struct item {' '    struct key key;' '    UT_hash_handle hh;' '};' \
        'void drop(struct item **all, int a, int b);' \
        'void drop(struct item **all, int a, int b)' '{' '    struct key key = {a, b};' \
        '    struct item *it = NULL;' '    HASH_FIND(hh, *all, &key, sizeof(key), it);' \
        '    if (it)' '        HASH_DEL(*all, it);' '    free(it);' '}'
    passes tidy
}
