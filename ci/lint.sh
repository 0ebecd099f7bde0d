#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The gates that need no build. `ci/lint.sh` runs all, `ci/lint.sh format layers` runs those named.
# LINT_PATHS="dvm/protocol/wire base" narrows them to folders or files. Exit: 0 clean, 1 refused, 2 cannot run.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${LINT_ROOT:-$here/..}"

readonly GATES=(format layers pure banned span memory state journal names style sizes spdx shell tidy)
readonly CLANG_MAJOR=14
readonly FILE_LINES_MAX=800
# Folders whose functions are named by the rules of ci/names.awk.
readonly NAMED='^(base|api|operator|dvm)/'
# Folders whose code follows ci/style.awk.
readonly STYLED='^(base|api|operator|bench|examples|dvm)/'
# A name followed by "(" in code; lines of tests count too.
readonly BANNED='strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|strtok|system|popen|sleep|usleep|nanosleep'

die() {
    echo "lint: $*" >&2
    exit 2
}

# --- the files to check

# Files of the tree that are not ignored; without git, all but build/.
list_files() {
    local -a paths
    read -ra paths <<<"${LINT_PATHS:-.}"
    if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then
        git ls-files --cached --others --exclude-standard -- "${paths[@]}"
    else
        find "${paths[@]}" -type f -not -path './build/*' -not -path './.git/*'
    fi | sed 's|^\./||' | LC_ALL=C sort -u | while IFS= read -r f; do
        [ ! -f "$f" ] || echo "$f"
    done
}

c_files() {
    grep -E '\.[ch]$' <<<"$files" || true
}

code_files() {
    c_files | grep -E '^(base|api|dvm|operator)/' || true
}

# Shell scripts by name or by first line.
shell_files() {
    local f first
    while IFS= read -r f; do
        case $f in
        *.sh | *.bats) echo "$f" ;;
        *.*) ;;
        *)
            first=$(head -n 1 "$f" | tr -d '\0')
            if [[ $first =~ ^#!.*[/[:space:]](ba|da)?sh([[:space:]]|$) ]]; then echo "$f"; fi
            ;;
        esac
    done <<<"$files"
}

source_files() {
    {
        grep -E '\.([ch]|sh|bats|py|awk|mk|supp)$|(^|/)(Makefile|Dockerfile)[^/]*$' <<<"$files" || true
        shell_files
    } | LC_ALL=C sort -u
}

# A list in the Makefile, so that the order of the modules is written down once.
from_makefile() {
    local value
    value=$(sed -n "s/^$1 := //p" Makefile 2>/dev/null) || true
    [ -n "$value" ] || die "the Makefile has no $1"
    echo "$value"
}

# The program in the version whose verdicts the tree is written for.
clang_program() {
    local name
    for name in "$1-$CLANG_MAJOR" "$1"; do
        if "$name" --version 2>/dev/null | grep -q "version $CLANG_MAJOR\."; then
            echo "$name"
            return
        fi
    done
    die "$1 $CLANG_MAJOR is needed"
}

# --- the gates: each prints its findings and fails, or prints nothing

# One line per file; git diff shows the rest after the command that it names.
gate_format() {
    local program f rc=0
    program=$(clang_program clang-format)
    while IFS= read -r f; do
        [ -n "$f" ] || continue
        if ! "$program" --dry-run -Werror "$f" 2>/dev/null; then
            echo "$f: to do: $program -i $f"
            rc=1
        fi
    done < <(c_files)
    return "$rc"
}

gate_layers() {
    local edges rc=0
    edges=$(mktemp)
    code_files | xargs -r awk -v core="$core_modules" -v host="$host_modules" -v tool="$tool_modules" -v edges="$edges" \
        -f "$here/layers.awk" || rc=1
    if ! tsort "$edges" >/dev/null 2>"$edges.loop"; then
        echo "layers: folders that include each other:"
        sed -n 's/^tsort: [^:]*: //p; s/^tsort: //p' "$edges.loop" | grep -v 'contains a loop' || true
        rc=1
    fi
    rm -f "$edges" "$edges.loop"
    return "$rc"
}

# The core decides: no socket, clock, file, thread, PMIx or libevent (architecture, rule 1).
gate_pure() {
    local module
    for module in $core_modules; do
        code_files | grep "^dvm/$module/" | grep -v /test/ || true
    done | matching_code "$(impure)" | refuse "is not pure"
}

impure() {
    local headers='event2/[^>]*|event\.h|sys/(socket|time|stat|epoll|eventfd|mman|un)\.h|time\.h|unistd\.h'
    headers+='|fcntl\.h|poll\.h|pthread\.h|stdatomic\.h|netdb\.h|net(inet|/)[^>]*|arpa/[^>]*|pmix[^>]*'
    headers+='|curl/[^>]*|openssl/[^>]*|sched\.h|dirent\.h'
    local words='FILE|stdout|stderr'
    local calls='fopen|fdopen|printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|fputc|fwrite|perror|getenv'
    echo ".*include *(<($headers)>|\"base/(loop|httpd|tls)/)|$(word "$words")|$(call "$calls")"
}

# A warning about a cluster may come again at each pass, so reconcile_warn() limits them.
gate_banned() {
    local rc=0
    c_files | matching_code "$(call "$BANNED")" | refuse "is banned" || rc=1
    code_files | only '^operator/reconcile/' | no_match '/test/|/announce\.c$' |
        matching_code "$(call 'log_warn|log_error')" | refuse "is a warning without a limit: reconcile_warn()" || rc=1
    return "$rc"
}

# A difference of times that wraps is a delay of none or of forever, so one function makes all of them in the operator,
# and every delay of a timer.
gate_span() {
    local now='(now_ms|loop_now_ms\([^()]*\)|loop_wall_ms\(\))\)* -' rc=0
    code_files | no_match '/test/|^base/span/' | matching_code ".*(loop_timer_arm|queue_add_after|plan_again)\(.* -( |\$)" |
        refuse "may wrap: span_ms()" || rc=1
    code_files | only '^operator/' | no_match '/test/' |
        matching_code ".*($now( |\$)|_ms\)* -\$| - \(?(\([a-z0-9_]+\))?[a-z][[:alnum:]_.>-]*_ms([^[:alnum:]_(]|\$))" |
        refuse "may wrap: span_ms()" || rc=1
    return "$rc"
}

# Memory is asked for by functions that end the program with one line when there is none (docs/style.md).
gate_memory() {
    local sets='alloc(_full)?|dup|copy|(list_|taskset_)?(asprintf|sscanf)|set(_range|_ith_ulong)?|clr(_range)?|only|allbut'
    sets+='|from_[a-z_]+|not|and|or|xor|andnot|singlify'
    local rc=0
    code_files | no_match '/test/|^base/buf/alloc\.c$' |
        matching_code "$(call '(m|c|re|aligned_)alloc|reallocarray|posix_memalign|strn?dup|v?asprintf')" |
        refuse "may return NULL: base/buf/buf.h" || rc=1
    code_files | no_match '/test/|^base/heap/' | matching_code "$(call open_memstream)" |
        refuse "may cut its text: heap_stream_open()" || rc=1
    code_files | no_match '/test/|^base/bitmap/' | matching_code "$(call "hwloc_bitmap_($sets)")" |
        refuse "may fail unseen: base/bitmap/bitmap.h" || rc=1
    code_files | no_match '/test/|^base/heap/hash\.h$' | matching_code '.*include *<uthash\.h>' |
        refuse "ends the program without a line: base/heap/hash.h" || rc=1
    return "$rc"
}

# No exported mutable state. A variable without a header is for clang-tidy to find.
gate_state() {
    local constant='extern (const [^*]*|[^*]*[*]+ *const [^*]*);'
    code_files | matching_code '[[:space:]]*extern [^(]*;' | no_match "$constant" | refuse "is exported state"
}

# The head's tables of members, of campaigns, of jobs and of published values change by the fold of their records alone (docs/head.md). slots.c
# has the sums that follow from ranks. A campaign is constant, but for the draft of a new one.
gate_journal() {
    local rc=0
    code_files | only '^dvm/protocol/head/' | no_match '/test/|/members/(roster|slots)\.c$' |
        matching_code "$(call 'member_step|members_(put|add|remove|clear|decode|entry|entries)')" |
        refuse "changes members without a record" || rc=1
    code_files | only '^dvm/protocol/head/' | no_match '/test/|/journal/|/resize/campaign_table\.c$' |
        matching_code '(|[[:space:]]+|.*[^[:alnum:]_[:space:]][[:space:]]*|.*(static|extern) )struct campaign \*' |
        no_match 'struct campaign \*\)?draft' |
        refuse "can change a campaign without a record" || rc=1
    code_files | only '^dvm/protocol/head/' | no_match '/test/|/jobs/job_table\.c$' |
        matching_code "$(call 'fsm_step') *&job_fsm|.*kept->[][a-z0-9_.>-]*[]a-z_] *([-+|&^]?=[^=]|[+][+]|--)" |
        refuse "changes jobs without a record" || rc=1
    code_files | only '^dvm/protocol/' | no_match '/test/|/head/published/(store|published)\.[ch]$' |
        matching_code "$(call 'store_(publish|remove|load)')" |
        refuse "changes published values without a record" || rc=1
    return "$rc"
}

# ci/names.awk has the rules for names of functions. Names of test functions are sentences.
gate_names() {
    local tags rc=0
    command -v ctags >/dev/null || die "ctags is needed"
    tags=$(code_files | only "$NAMED" | no_match /test/ |
        xargs -r ctags --kinds-C=fp -x --_xformat='%N %F %n %{file} %K' | LC_ALL=C sort)
    [ -z "$tags" ] || awk -f "$here/names.awk" <<<"$tags" || rc=1
    return "$rc"
}

# Layout that clang-format does not set: comparisons, braces, blank lines (docs/style.md).
gate_style() {
    c_files | only "$STYLED" | xargs -r awk -f "$here/strip.awk" | awk -f "$here/style.awk"
}

# Patterns for one of the names, as a word or as a call: not a part of a longer name, and not a member of a struct.
word() {
    echo "(.*[^[:alnum:]_.>])?($1)([^[:alnum:]_]|\$)"
}

call() {
    echo "(.*[^[:alnum:]_.>])?($1)[[:space:]]*\("
}

# Lines "file:line:code" of the C files on standard input whose code, without comments and texts, begins
# with the pattern. No match is no failure, unlike a pattern that grep cannot read.
matching_code() {
    xargs -r awk -f "$here/strip.awk" | { grep -E "^[^:]+:[0-9]+:($1)" || [ $? -eq 1 ]; }
}

only() {
    grep -E "$1" || [ $? -eq 1 ]
}

no_match() {
    grep -vE "$1" || [ $? -eq 1 ]
}

# Fails if there is a line on standard input.
refuse() {
    local line rc=0
    while IFS= read -r line; do
        echo "$line  <- $1"
        rc=1
    done
    return "$rc"
}

gate_sizes() {
    local f n rc=0
    while IFS= read -r f; do
        [ -n "$f" ] || continue
        n=$(wc -l <"$f")
        if [ "$n" -gt "$FILE_LINES_MAX" ]; then
            echo "$f: $n lines, at most $FILE_LINES_MAX are allowed"
            rc=1
        fi
    done < <(source_files)
    return "$rc"
}

gate_spdx() {
    local f rc=0
    while IFS= read -r f; do
        [ -n "$f" ] || continue
        if ! head -n 3 "$f" | grep -q 'SPDX-License-Identifier: BSD-3-Clause'; then
            echo "$f: no SPDX line among the first three"
            rc=1
        fi
    done < <(source_files)
    return "$rc"
}

# SC2317 takes the functions that bats and traps call for unreachable.
gate_shell() {
    shell_files | xargs -r shellcheck -x -e SC2317
}

# Also holds the limit of 100 lines for a function. Files that passed are not looked at again until they,
# what they include, the checks or the flags change.
gate_tidy() {
    local program
    program=$(clang_program clang-tidy)
    LINT_TIDY=$program LINT_FLAGS=$(tidy_flags) \
        xargs -r -P "${LINT_JOBS:-2}" -n 1 "$here/tidy.sh" < <(code_files | grep '\.c$')
}

tidy_flags() {
    local -a pkgs
    read -ra pkgs <<<"$packages"
    # Headers of libraries are the system's, as in the Makefile.
    echo "-std=gnu17 -I. -isystem build/libpmix/release/include -D_GNU_SOURCE -DDVM_VERSION=\"lint\" -include $here/analyze.h" \
        "$(pkg-config --cflags "${pkgs[@]}" | sed 's/-I */-isystem /g')"
}

main() {
    local gate status failed=""
    [ $# -gt 0 ] || set -- "${GATES[@]}"
    files=$(list_files)
    [ -n "$files" ] || die "there is no file to look at"
    core_modules=$(from_makefile CORE_MODULES)
    host_modules=$(from_makefile HOST_MODULES)
    tool_modules=$(from_makefile TOOL_MODULES)
    packages=$(from_makefile PKGS)
    for gate in "$@"; do
        [[ " ${GATES[*]} " == *" $gate "* ]] || die "there is no gate $gate, only: ${GATES[*]}"
        echo "  LINT $gate"
        # Not in a condition: there, a command that fails half-way would not end the gate.
        set +e
        (
            set -e
            "gate_$gate"
        )
        status=$?
        set -e
        [ "$status" -eq 0 ] || failed+=" $gate"
    done
    if [ -n "$failed" ]; then
        echo "lint: refused by:$failed"
        exit 1
    fi
}

main "$@"
