#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# ci/docs.sh can refuse: each check is given a page, or a source, that is not true.
# shellcheck disable=SC2016,SC2046  # backticks are the pages'; options are words

setup() {
    docs=$BATS_TEST_DIRNAME/../docs.sh
    export DOCS_ROOT=$BATS_TEST_TMPDIR/tree
    mkdir -p "$DOCS_ROOT"/{docs/{pmix,operator},dvm/host/{jobspec,pmix/test},dvm/test,operator/{status,metrics},charts/dvm-operator}
    cd "$DOCS_ROOT" || exit
    touch docs/{cleanup,head,promises,security,seeds,simulator}.md
    printf '# prun\n' > docs/prun.md
    printf '%s\n' '@test "a job that $runs is \"told\" about" {' '}' > dvm/test/local.bats
    cat > dvm/host/pmix/test/test_one.c << 'C'
static void a_rank_hears_of_its_end(void **state) {}
static void a_test_that_nobody_runs_today(void **state) {}
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_rank_hears_of_its_end),
    };
}
C
    echo '    X(STABLE, "Stable", REASON_PLAIN)' > operator/status/reason.h
    echo '`Stable`' > docs/operator/conditions.md
    echo '    put_single(b, "dvm_operator_watches", "gauge");' > operator/metrics/metrics.c
    echo '  "expr": "sum by (kind) (rate(dvm_operator_watches[5m]))",' > charts/dvm-operator/dashboard.json
    printf '%s\n' 'const char *const outer_names[] = {' '    "PMI_*", "!PMI_X",' '    NULL};' > dvm/host/jobspec/outer.c
    printf '%s\n' '## Variables that no rank gets' '' '    # some' '    PMI_*  !PMI_X' '' '## Else' '' '    MORE' > docs/pmix/environment.md
    cat > dvm/host/pmix/srv.c << 'C'
/* PMIX_NODEID is only spoken of, and so is "PMIX_APPNUM". */
static pmix_server_module_t module = {
    .fence_nb = on_fence,
};
static const char *key = PMIX_JOB_SIZE;
    module.query = on_query;
C
    # The header's entries: none of them is called, except ours.
    {
        printf '## Upcalls\n\n| upcall | since | here | tested by |\n| --- | --- | --- | --- |\n'
        printf '| fence_nb, query | 4.2 | yes | `a_rank_…` |\n'
        printf '#include <pmix_server.h>\n' | gcc -E -I"$BATS_TEST_DIRNAME/../../build/libpmix/release/include" -x c - |
            sed -nE '/struct pmix_server_module/,/^\}/ s/.* ([a-z0-9_]+);$/| \1 | – | | |/p' | grep -v ' fence_nb \| query '
        printf '\n## Sizes\n\n| attribute | realm | since | tested by |\n| --- | --- | --- | --- |\n'
        printf '| `PMIX_JOB_SIZE` | job | 4.2 | `a_rank_…`, "a job that … is …" |\n'
    } > docs/pmix.md
}

# refused CHECK TEXT...
refused() {
    local check=$1 text
    shift
    run "$docs" "$check"
    [ "$status" -eq 1 ]
    for text; do
        [[ $output == *"$text"* ]] || { echo "not said: $text; but: $output"; return 1; }
    done
}

@test "pages that are true pass" {
    "$docs"
}

@test "a quoted name that is no test and no heading is refused, with its place" {
    printf '%s\n' '' 'see "Sizes", "a job that flies", "a job that … is \"told\" about"' >> docs/cleanup.md
    sed -i 's/\\"told\\"/told/' docs/cleanup.md dvm/test/local.bats
    refused tests 'docs/cleanup.md:2: there is no test or heading "a job that flies"'
    [ "${#lines[@]}" -eq 1 ] || { echo "$output"; return 1; }
}

@test "an abbreviation that fits no test is refused" {
    echo '("a rank … nowhere")' >> docs/prun.md
    echo '`a_rank_…_of_its_birth`' >> docs/prun.md
    refused tests 'no test or heading "a rank … nowhere"' 'no test a_rank_…_of_its_birth'
}

@test "a function that no list of tests has is no test" {
    echo '`a_test_that_nobody_runs_today`' >> docs/pmix.md
    refused tests 'there is no test a_test_that_nobody_runs_today'
}

@test "a wrong name is refused on the pages on security, the head and the simulator, and a metric is no test" {
    local page
    for page in docs/{security,head,simulator}.md; do
        echo '| anybody | refused | `a_stranger_…` |' > "$page"
        refused tests "$page:1: there is no test a_stranger_…"
        [ "${#lines[@]}" -eq 1 ] || { echo "$output"; return 1; }
        echo '`dvm_keepers_left_behind_total`' > "$page"
        "$docs" tests
    done
}

@test "a file that is not there is refused" {
    echo '`test_two.c`, `dvm/test/local.bats`' >> docs/pmix.md
    refused tests 'there is no file test_two.c'
    [ "${#lines[@]}" -eq 1 ] || { echo "$output"; return 1; }
}

@test "names in blocks of code are not checked" {
    printf '%s\n' '```' 'x "y" `a_b_c_d_e`' '```' '' '    echo "hello"' >> docs/prun.md
    "$docs" tests
}

@test "a tree without tests is refused" {
    rm dvm/host/pmix/test/test_one.c
    refused tests 'no tests are found'
}

@test "an upcall that we set and the table lacks is refused" {
    sed -i 's/fence_nb, query/fence_nb/' docs/pmix.md
    refused upcalls "our upcall query is not in the table"
}

@test "an upcall of the library that the table lacks is refused" {
    sed -i '/^| monitor /d' docs/pmix.md
    refused upcalls "the library's upcall monitor is not in the table"
}

@test "a source without a server module is refused" {
    echo 'static const char *key = PMIX_JOB_SIZE;' > dvm/host/pmix/srv.c
    refused upcalls 'our upcall none is not'
}

@test "an attribute of the source that no table has is refused, one in a comment is not" {
    sed -i 's/PMIX_JOB_SIZE`/PMIX_JOBID`/' docs/pmix.md
    refused attributes 'the attribute PMIX_JOB_SIZE of dvm/host/pmix is in no table'
    [ "${#lines[@]}" -eq 1 ] || { echo "$output"; return 1; }
}

@test "an attribute of our own that no table has is refused" {
    echo '#define PMIX_OF_TOMORROW "pmix.tomorrow"' >> dvm/host/pmix/srv.c
    echo 'static const char *other = PMIX_OF_TOMORROW;' >> dvm/host/pmix/srv.c
    refused attributes 'the attribute PMIX_OF_TOMORROW of dvm/host/pmix is in no table'
}

@test "an attribute that nothing tests is refused" {
    sed -i 's/| 4.2 | `a_rank_…`, .*/| 4.2 | – |/' docs/pmix.md
    refused attributes 'PMIX_JOB_SIZE is tested by nothing'
}

@test "an attribute that the header lacks, or has since an earlier version, is refused" {
    echo '| `PMIX_NO_SUCH_NAME` | job | 4.2 | `a_rank_…` |' >> docs/pmix.md
    sed -i 's/| job | 4.2 | `a_rank_…`, /| job | 99.0 | `a_rank_…`, /' docs/pmix.md
    refused attributes 'has no PMIX_NO_SUCH_NAME, said to be there since 4.2' 'PMIX_JOB_SIZE is in libpmix'
}

@test "a page below docs/pmix is checked like docs/pmix.md: its attributes, its tests and its headings" {
    sed -n '/^## Sizes/,$p' docs/pmix.md > docs/pmix/sizes.md
    sed -i '/^## Sizes/,$d' docs/pmix.md
    echo 'see "Sizes"' >> docs/cleanup.md
    "$docs"
    echo '| `PMIX_NO_SUCH_NAME` | job | 4.2 | – |' >> docs/pmix/sizes.md
    refused attributes 'docs/pmix/sizes.md:6: PMIX_NO_SUCH_NAME is tested by nothing'
    echo '"a job that flies"' >> docs/pmix/sizes.md
    refused tests 'docs/pmix/sizes.md:7: there is no test or heading "a job that flies"'
}

@test "an attribute without a version is refused" {
    sed -i 's/| job | 4.2 |/| job | |/' docs/pmix.md
    refused attributes 'PMIX_JOB_SIZE is there since no version'
}

@test "a graph that is not what the tables say is refused, and one that is missing" {
    local graphs=$BATS_TEST_TMPDIR/graphs file
    cd "$BATS_TEST_DIRNAME/../.." || exit
    cp -r docs/graphs "$graphs"
    file=$(find "$graphs" -type f | sort | head -n 1)
    echo "one more state" >> "$file"
    run make docs-check GRAPHS="$graphs"
    [ "$status" -ne 0 ]
    [[ $output == *"-one more state"*"make docs-graphs"* ]]
    rm "$file"
    run make docs-check GRAPHS="$graphs"
    [ "$status" -ne 0 ]
    [[ $output == *"make docs-graphs"* ]]
}

@test "a page of fields that is not what the CRD says is refused" {
    cd "$BATS_TEST_DIRNAME/../.." || exit
    sed 's/Number of members/How many members/' docs/operator/fields.md > "$BATS_TEST_TMPDIR/fields.md"
    run make docs-check FIELDS="$BATS_TEST_TMPDIR/fields.md"
    [ "$status" -ne 0 ]
    [[ $output == *"+- \`spec.replicas\`"*"make docs-graphs"* ]]
}

@test "a policy of the chart, and a page of its fields, that is not what the table says is refused" {
    cd "$BATS_TEST_DIRNAME/../.." || exit
    sed "s/'hostPID', //" charts/dvm-operator/template-policy.yaml > "$BATS_TEST_TMPDIR/policy.yaml"
    run make docs-check POLICY="$BATS_TEST_TMPDIR/policy.yaml"
    [ "$status" -ne 0 ]
    [[ $output == *"+        "*"'hostPID'"*"make policy"* ]]
    echo '- `hostPath`' | cat docs/operator/template-fields.md - > "$BATS_TEST_TMPDIR/page.md"
    run make docs-check POLICY_PAGE="$BATS_TEST_TMPDIR/page.md"
    [ "$status" -ne 0 ]
    [[ $output == *"-- \`hostPath\`"*"make policy"* ]]
}

@test "a reason of the operator that no page tells is refused" {
    echo '    X(LOST, "Lost", REASON_PLAIN)' >> operator/status/reason.h
    refused reasons 'the reason Lost is told nowhere'
    echo > operator/status/reason.h
    refused reasons 'has no reasons'
}

@test "a variable of an outer launcher that only the page or only the source has is refused" {
    sed -i 's/PMI_\*/& PMIX_RANK/' docs/pmix/environment.md
    refused outer 'the source does not have PMIX_RANK'
    sed -i 's/PMIX_RANK//; s/!PMI_X//' docs/pmix/environment.md
    refused outer 'the source has also !PMI_X'
    : > dvm/host/jobspec/outer.c
    refused outer 'has no variables'
}

@test "a metric of the dashboard that the operator does not have is refused" {
    echo '  "expr": "max(dvm_operator_watch)"' >> charts/dvm-operator/dashboard.json
    refused dashboard 'the operator has no metric dvm_operator_watch'
    echo '{}' > charts/dvm-operator/dashboard.json
    refused dashboard 'names no metric'
}
