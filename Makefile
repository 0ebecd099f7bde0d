# SPDX-License-Identifier: BSD-3-Clause
# Builds, tests and shows everything; `make help` explains. Nothing is written outside build/.
SHELL := /bin/bash
.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules
.SECONDARY:
.PHONY: FORCE

# Scripts keep a cache in it, and go needs one. Without HOME it is that of the user database.
HOME ?= $(shell echo ~)
export HOME

BUILD ?= build
# A folder of this tree has one name, however it is given: link maps and dependency files hold that name.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
# A compiler that does not know where Open MPI is, such as one for another processor, gets pkg-config's flags.
MPICC ?= mpicc
MPI_FLAGS ?=
# Tells how long each test took, and bounds it.
BATS ?= ci/bats.sh
FUZZ_CC ?= $(if $(filter ccache%,$(CC)),ccache )clang
PKGS := libevent libevent_openssl libevent_pthreads hwloc libcurl yaml-0.1 jansson openssl
VERSION := 0.1.0

# The PMIx library of the daemon is our own build (third_party/libpmix); its headers are the same in every variant.
PMIX_HEADERS := $(BUILD)/libpmix/release/include
CPPFLAGS += -I. -isystem $(PMIX_HEADERS) -D_GNU_SOURCE -DDVM_VERSION='"$(VERSION)"' $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PKGS) 2>/dev/null))
CFLAGS_ALL := -std=gnu17 -g -Wall -Wextra -Werror -Wno-unused-parameter -Wmissing-prototypes -Wshadow -Wformat=2 -fno-common -pthread -MMD -MP
CFLAGS_release := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
CFLAGS_asan := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
CFLAGS_fuzz := -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
    -fprofile-instr-generate -fcoverage-mapping
CFLAGS_cov := -O0 --coverage
LDFLAGS_release := -pie -Wl,-z,relro,-z,now,--as-needed
CFLAGS_mutant := -O2 -DDVM_MUTANTS
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_cov := --coverage
LDFLAGS_fuzz := -fsanitize=address,undefined -fprofile-instr-generate -Wl,--as-needed
LDFLAGS_fuzz_target := -fsanitize=fuzzer -Wl,--wrap=LLVMFuzzerTestOneInput
LDLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lpthread -lm
# Clients of our server are linked with the release's own libpmix.
CLIENT_CPPFLAGS := -I. -D_GNU_SOURCE $(patsubst -I%,-isystem %,$(shell pkg-config --cflags pmix 2>/dev/null))
CLIENT_LDLIBS := $(shell pkg-config --libs pmix 2>/dev/null) -lpthread
# The spawner is forked for each rank: a small program has few memory maps to copy and to remove.
SPAWNER_SRC := $(wildcard dvm/host/spawner/*.c)
LDFLAGS_spawner_release := -static-pie -Wl,-z,relro,-z,now
LDFLAGS_spawner_asan := $(LDFLAGS_asan)
# The operator knows nothing of PMIx and topologies; its image need not hold their libraries.
# Of libevent it takes the parts, which libevent_openssl needs anyway, and not the whole beside them.
OPERATOR_PKGS := libevent_extra libevent_core $(filter-out hwloc libevent,$(PKGS))
OPERATOR_LDLIBS := $(shell pkg-config --libs $(OPERATOR_PKGS) 2>/dev/null) -lpthread -lm
# Libraries of each program of dvm/bin beside libc; ci/libraries.sh checks them.
PKGS_prted := $(PKGS)
PKGS_prte := hwloc jansson openssl
PKGS_prun := # libc alone
PKGS_pstat := jansson
PKGS_pterm := jansson
PKGS_dvm-connect := openssl
PKGS_dvm-stage := libcrypto
program_ldlibs = $(if $(PKGS_$(1)),$(shell pkg-config --libs $(PKGS_$(1)) 2>/dev/null)) -lpthread -lm
# The functions of base/heap/wrapped.c.
WRAPPED := malloc calloc realloc strdup asprintf vasprintf __asprintf_chk __vasprintf_chk

# --- what is built: libraries by layer (an include may only point to an earlier one), programs, tests
CORE_MODULES := protocol/wire protocol/wire/msg protocol/out protocol/tree protocol/member protocol/peer protocol/neighbour protocol/transfer protocol/rml protocol/xcast protocol/gather protocol/state protocol/map protocol/head/journal protocol/head/published protocol/head/members protocol/head/jobs protocol/head/resize protocol/head protocol/link_loss protocol/core protocol/files
HOST_MODULES := host/replay host/records host/cgroup host/forkserver host/net host/cred host/spawner host/odls host/iof host/stager host/jobspec host/pmix host/ctl host/env host/app host/ranks host/clients host/services host
TOOL_MODULES := tools/cli tools/submit tools/ldvm
DVM_DIRS := $(CORE_MODULES:%=dvm/%) $(HOST_MODULES:%=dvm/%) $(TOOL_MODULES:%=dvm/%)
base_SRC := $(wildcard base/*/*.c)
api_SRC := $(wildcard api/*.c)
core_SRC := $(foreach m,$(CORE_MODULES),$(wildcard dvm/$(m)/*.c))
# Only prted has these objects; the other programs are linked without their libraries.
DAEMON_MODULES := host/pmix host
daemon_SRC := $(foreach m,$(DAEMON_MODULES),$(wildcard dvm/$(m)/*.c))
dvm_SRC := $(foreach m,$(filter-out $(DAEMON_MODULES),$(HOST_MODULES)) $(TOOL_MODULES),$(wildcard dvm/$(m)/*.c))
sim_SRC := $(wildcard dvm/sim/*.c)
operator_SRC := $(filter-out operator/test/%,$(wildcard operator/*/*.c))
LIBS := base api core dvm daemon sim operator
DVM_PROGRAMS := $(patsubst dvm/bin/%.c,%,$(wildcard dvm/bin/*.c))
PROGRAMS := $(DVM_PROGRAMS) $(if $(wildcard operator/main.c),dvm-operator)
TESTS := $(wildcard base/*/test/test_*.c api/test/test_*.c dvm/test/test_*.c dvm/sim/test/test_*.c $(DVM_DIRS:%=%/test/test_*.c) operator/*/test/test_*.c)
# The core's own tests, for the coverage of it that they and the simulator give.
COV_TESTS := $(foreach m,$(CORE_MODULES),$(wildcard dvm/$(m)/test/test_*.c))
COV_BINS := $(COV_TESTS:%.c=$(BUILD)/cov/%)
COV_SEEDS ?= 300
TEST_BINS := $(TESTS:%.c=$(BUILD)/asan/%)
FUZZ_SECONDS ?= 240
FUZZERS := $(wildcard base/*/test/fuzz_*.c api/test/fuzz_*.c dvm/test/fuzz_*.c $(DVM_DIRS:%=%/test/fuzz_*.c))
OPERATOR_FUZZERS := $(wildcard operator/*/test/fuzz_*.c)
OPERATOR_FUZZ_BINS := $(OPERATOR_FUZZERS:%.c=$(BUILD)/fuzz/%)
FUZZ_BINS := $(FUZZERS:%.c=$(BUILD)/fuzz/%) $(OPERATOR_FUZZ_BINS)
# Programs of ci/contract.txt.
CONTRACT_TESTS := $(shell awk '!/^\#/ { print $$1 }' ci/contract.txt 2>/dev/null | sort -u)
MUTANT_TESTS := $(BUILD)/mutant/dvm/sim/test/mutants
LOCAL_BATS := $(wildcard dvm/test/*.bats)
# Strangers and crowds: in a network namespace of their own, if this user may make one.
ATTACK_BATS := $(patsubst %,dvm/test/%.bats,crowd identity strangers)
OWN_NET = $(shell unshare --net ip link set lo up 2>/dev/null && echo "unshare --net sh -c 'ip link set lo up && exec \"\$$@\"' sh")
BENCHES := floor follow launcher links memory pingpong plan repair xcast
EXAMPLES := $(patsubst examples/%.c,%,$(wildcard examples/*.c))

all: $(PROGRAMS:%=$(BUILD)/bin/%) examples ## build the programs into build/bin and the examples

# Libraries of the programs and tests of a layer, in the linker's order: dvm and operator do not use each other.
base_USES := base
api_USES := api base
dvm_USES := sim daemon dvm core api base
operator_USES := operator api base

# How the library is built for each variant that has a daemon; it is kept in the cache and built anew when this changes.
PMIX_FILES := $(wildcard third_party/libpmix/*.sh third_party/libpmix/patches/* third_party/libpmix/extend/*)
# Not the compiler of a fuzz target that needs the headers first.
PMIX_CC := $(CC)
PMIX_CFLAGS_release := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong
PMIX_CFLAGS_asan := $(CFLAGS_asan)
$(PMIX_HEADERS): $(BUILD)/libpmix/release/lib/libpmix.a ;

define libpmix
$$(BUILD)/libpmix/$(1)/lib/libpmix.a: $$(PMIX_FILES)
	@CC='$$(PMIX_CC)' third_party/libpmix/build.sh $$(BUILD)/libpmix/$(1) $$(PMIX_CFLAGS_$(1))
endef
$(eval $(call libpmix,release))
$(eval $(call libpmix,asan))

WITH_PMIX_HEADERS := $(shell find dvm/bin dvm/host dvm/tools dvm/test bench -name '*.c' -not -path '*/test/clients/*' 2>/dev/null)

define variant
$$(WITH_PMIX_HEADERS:%.c=$$(BUILD)/$(1)/%.o): | $$(PMIX_HEADERS)
# Objects are compiled again when their options change, not with each change of this file.
$$(BUILD)/$(1)/options: FORCE
	@mkdir -p $$(@D)
	@new=$$@.$$$$$$$$; echo '$$(subst ',,$$(CPPFLAGS) $$(CFLAGS_ALL) $$(CFLAGS_$(1)))' > $$$$new; \
	    if cmp -s $$$$new $$@; then rm $$$$new; else mv $$$$new $$@; fi
$$(BUILD)/$(1)/%.o: %.c $$(BUILD)/$(1)/options
	@mkdir -p $$(@D)
	@echo "  CC $(1) $$<"
	@$$(CC) $$(CPPFLAGS) $$(CFLAGS_ALL) $$(CFLAGS_$(1)) -c -o $$@ $$<
$(foreach l,$(LIBS),
$$(BUILD)/$(1)/lib$(l).a: $$($(l)_SRC:%.c=$$(BUILD)/$(1)/%.o)
	@mkdir -p $$(@D)
	@rm -f $$@ && $$(AR) crs $$@ $$^
)
$$(BUILD)/$(1)/bin/%: $$(BUILD)/$(1)/dvm/bin/%.o $(foreach l,dvm core api base,$$(BUILD)/$(1)/lib$(l).a)
	@mkdir -p $$(@D)
	@echo "  LD $(1) $$@"
	@$$(CC) $$(CFLAGS_$(1)) $$(LDFLAGS_$(1)) -Wl,-Map=$$(BUILD)/$(1)/$$(@F).map -o $$@ $$(filter %.o %/libdaemon.a,$$^) \
	    $$(filter-out %.o %/libdaemon.a,$$^) $$(call program_ldlibs,$$*)
$$(BUILD)/$(1)/bin/prted: $$(BUILD)/$(1)/libdaemon.a
$$(BUILD)/$(1)/bin/prted: private LDFLAGS_$(1) += $$(WRAPPED:%=-Wl,--wrap=%)
$$(BUILD)/$(1)/sim: $$(BUILD)/$(1)/dvm/sim/test/sim.o $$(BUILD)/$(1)/dvm/sim/test/explain.o $(foreach l,sim core api base,$$(BUILD)/$(1)/lib$(l).a)
	@mkdir -p $$(@D)
	@echo "  LD $(1) $$@"
	@$$(CC) $$(CFLAGS_$(1)) $$(LDFLAGS_$(1)) -Wl,-Map=$$(BUILD)/$(1)/$$(@F).map -o $$@ $$^ $$(LDLIBS)
$$(BUILD)/$(1)/bin/dvm-spawner: $$(BUILD)/$(1)/dvm/bin/dvm-spawner.o $$(SPAWNER_SRC:%.c=$$(BUILD)/$(1)/%.o) $$(BUILD)/$(1)/libbase.a
	@mkdir -p $$(@D)
	@echo "  LD $(1) $$@"
	@$$(CC) $$(CFLAGS_$(1)) $$(LDFLAGS_spawner_$(1)) -o $$@ $$^
$$(BUILD)/$(1)/bin/prted: $$(BUILD)/libpmix/$(1)/lib/libpmix.a | $$(BUILD)/$(1)/bin/dvm-spawner
$$(BUILD)/$(1)/bin/dvm-operator: $$(BUILD)/$(1)/operator/main.o $(foreach l,operator api base,$$(BUILD)/$(1)/lib$(l).a)
	@mkdir -p $$(@D)
	@echo "  LD $(1) $$@"
	@$$(CC) $$(CFLAGS_$(1)) $$(LDFLAGS_$(1)) -o $$@ $$^ $$(OPERATOR_LDLIBS)
endef
$(eval $(call variant,release))
$(eval $(call variant,asan))
$(eval $(call variant,fuzz))
$(eval $(call variant,cov))
$(BUILD)/fuzz/%: override CC := $(FUZZ_CC)
$(eval $(call variant,mutant))
# Tests only: the files of dvm/sim/mutants.txt are copied, and the copies get its deliberate mistakes.
MUTATED := $(shell sed -n 's/^file //p' dvm/sim/mutants.txt)
$(MUTATED:%=$(BUILD)/mutant/src/%): $(BUILD)/mutant/src/%: % dvm/sim/mutants.txt ci/mutate.awk
	@mkdir -p $(@D)
	@awk -v file=$< -f ci/mutate.awk dvm/sim/mutants.txt $< > $@.new && mv $@.new $@
$(MUTATED:%.c=$(BUILD)/mutant/%.o): $(BUILD)/mutant/%.o: $(BUILD)/mutant/src/%.c
	@mkdir -p $(@D)
	@echo "  CC mutant $<"
	@$(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(CFLAGS_mutant) -include dvm/sim/mutant_list.h -c -o $@ $<

$(BUILD)/bin/%: $(BUILD)/release/bin/%
	@mkdir -p $(@D)
	@ln -sf ../release/bin/$* $@

define test_layer
$(BUILD)/$(1)/$(2)/%: $(BUILD)/$(1)/$(2)/%.o $(foreach l,$(3),$(BUILD)/$(1)/lib$(l).a)
	@echo "  LD $(1) $$@"
	@$(CC) $(CFLAGS_$(1)) $$(LDFLAGS_$(1)) -Wl,-t,-t -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $(LDLIBS) -lcmocka > $$@.parts
endef
$(foreach l,base api dvm operator,$(eval $(call test_layer,asan,$(l),$($(l)_USES))))
$(BUILD)/asan/base/heap/test/test_wrapped: private LDFLAGS_asan += $(WRAPPED:%=-Wl,--wrap=%)
$(filter $(BUILD)/asan/dvm/%,$(TEST_BINS)): $(BUILD)/libpmix/asan/lib/libpmix.a
$(eval $(call test_layer,cov,dvm,sim core api base))
$(eval $(call test_layer,mutant,dvm,sim core api base))
$(eval $(call test_layer,mutant,operator,operator sim core api base))
$(CONTRACT_TESTS:%=$(BUILD)/mutant/%): $(BUILD)/mutant/dvm/sim/test/choose.o
# The tests of dvm/protocol/wire share a sample of every message, one of dvm/protocol/core a daemon in the middle of its work.
SCENE := dvm/protocol/core/test/scene.o dvm/protocol/wire/test/samples.o dvm/protocol/wire/msg/test/samples.o
$(foreach v,asan cov,$(eval $(patsubst %.c,$(BUILD)/$(v)/%,$(wildcard dvm/protocol/wire/test/test_*.c dvm/protocol/wire/msg/test/test_*.c)): $(patsubst %,$(BUILD)/$(v)/dvm/protocol/wire/%/samples.o,test msg/test)))
$(foreach v,asan cov,$(eval $(BUILD)/$(v)/dvm/protocol/head/journal/test/test_record $(BUILD)/$(v)/dvm/protocol/head/test/test_head_state: $(BUILD)/$(v)/dvm/protocol/head/journal/test/samples.o $(BUILD)/$(v)/dvm/protocol/wire/test/samples.o))
# All of dvm/protocol/core, and more, start DVMs in the same way.
$(foreach v,asan cov mutant,$(eval $(patsubst %.c,$(BUILD)/$(v)/%,$(wildcard dvm/protocol/core/test/test_*.c dvm/protocol/files/test/test_files_in_dvm.c)): $(BUILD)/$(v)/dvm/protocol/core/test/dvm.o))
$(foreach v,asan cov mutant,$(eval $(patsubst %,$(BUILD)/$(v)/dvm/protocol/core/test/test_%,refuse verbs origin editions): $(SCENE:%=$(BUILD)/$(v)/%)))
$(foreach v,asan cov mutant,$(eval $(patsubst %,$(BUILD)/$(v)/dvm/protocol/core/test/test_%,resize_request extension): $(BUILD)/$(v)/dvm/protocol/core/test/requests.o))
# The tests of transfers share two ends and the links between them.
$(foreach v,asan cov mutant,$(eval $(patsubst %.c,$(BUILD)/$(v)/%,$(wildcard dvm/protocol/transfer/test/test_*.c)): $(BUILD)/$(v)/dvm/protocol/transfer/test/pair.o $(BUILD)/$(v)/dvm/protocol/transfer/test/phases.o))
# The clock of these stands until they move it.
$(patsubst %,$(BUILD)/asan/%,dvm/host/odls/test/test_odls_lost dvm/host/pmix/test/test_server dvm/host/pmix/test/test_watch dvm/host/net/test/test_net_silent dvm/host/net/test/test_net_limits dvm/host/ctl/test/test_limits dvm/host/records/test/test_write_behind operator/cache/test/test_cache operator/cache/test/test_queue operator/kube/test/test_retry operator/dvm/test/test_dvm operator/lease/test/test_lease operator/reconcile/test/test_headlink operator/reconcile/test/test_resync operator/reconcile/test/test_shortage operator/reconcile/test/test_usersecret): $(BUILD)/asan/base/loop/test/clock.o
# These connect a crowd, and read the budgets of the ports.
LIMITS := $(patsubst %,$(BUILD)/asan/dvm/host/%,net/test/test_net_limits ctl/test/test_limits)
$(LIMITS): $(BUILD)/asan/base/door/test/crowd.o
$(LIMITS): private LDFLAGS_asan += -Wl,--wrap=door_create
$(BUILD)/asan/dvm/host/jobspec/test/test_hosts: private LDFLAGS_asan += -Wl,--wrap=gethostname
# These run the spawner's program.
$(patsubst %.c,$(BUILD)/asan/%,$(wildcard dvm/host/spawner/test/test_*.c dvm/host/odls/test/test_*.c)): | $(BUILD)/asan/bin/dvm-spawner
# Parts of a daemon that are neither core nor a module of their own are tested with stand-ins for all modules.
$(BUILD)/asan/dvm/host/test/test_app: $(BUILD)/asan/dvm/host/test/alone.o $(SCENE:%=$(BUILD)/asan/%)
# Tests of services share stand-ins for the parts of the daemon that a service uses.
$(patsubst %.c,$(BUILD)/asan/%,$(wildcard dvm/host/services/test/test_*.c)): $(BUILD)/asan/dvm/host/services/test/fake.o
# The tests of dvm/host/pmix share a fixture that runs servers and clients.
$(patsubst %.c,$(BUILD)/asan/%,$(wildcard dvm/host/pmix/test/test_*.c)): $(BUILD)/asan/dvm/host/pmix/test/pair.o $(BUILD)/asan/dvm/host/pmix/test/full.o
# Their clients are programs of their own, with the release's libpmix.
CLIENTS := client jobinfo resize spawn
CLIENT_OBJS := $(addprefix $(BUILD)/asan/dvm/host/pmix/test/clients/,main.o common.o)
$(foreach c,$(CLIENTS),$(eval $(BUILD)/asan/dvm/host/pmix/test/test_$(c): | $(BUILD)/asan/dvm/host/pmix/test/clients/$(c)))
$(BUILD)/asan/dvm/host/pmix/test/clients/%.o: dvm/host/pmix/test/clients/%.c Makefile
	@mkdir -p $(@D)
	@echo "  CC client $<"
	@$(CC) $(CLIENT_CPPFLAGS) $(CFLAGS_ALL) $(CFLAGS_asan) -c -o $@ $<
$(CLIENTS:%=$(BUILD)/asan/dvm/host/pmix/test/clients/%): %: %.o $(CLIENT_OBJS) $(BUILD)/asan/libbase.a
	@echo "  LD client $@"
	@$(CC) $(CFLAGS_asan) $(LDFLAGS_asan) -o $@ $^ $(CLIENT_LDLIBS)
$(BUILD)/asan/dvm/host/pmix/test/test_mpi: | examples

# Fuzz targets are linked with few libraries: neither PMIx nor sockets.
FUZZ_WITH := $(BUILD)/fuzz/dvm/protocol/wire/test/reached.o $(BUILD)/fuzz/dvm/protocol/head/journal/test/samples.o $(SCENE:%=$(BUILD)/fuzz/%) $(BUILD)/fuzz/dvm/host/spawner/spawn_msg.o $(BUILD)/fuzz/dvm/host/spawner/clean_journal.o $(BUILD)/fuzz/dvm/host/spawner/limits.o $(BUILD)/fuzz/dvm/host/stager/words.o $(BUILD)/fuzz/dvm/host/cred/cred.o \
    $(foreach l,sim core api base,$(BUILD)/fuzz/lib$(l).a)
$(filter-out $(OPERATOR_FUZZ_BINS),$(FUZZ_BINS)): $(FUZZ_WITH)
$(OPERATOR_FUZZ_BINS): $(foreach l,operator api base,$(BUILD)/fuzz/lib$(l).a)
# The answers of their servers come from the input; there is no network, and the clock stands.
$(patsubst %,$(BUILD)/fuzz/operator/reconcile/test/fuzz_%,watch head): $(BUILD)/fuzz/operator/http/test/fake_http.o $(BUILD)/fuzz/base/loop/test/clock.o
$(FUZZ_BINS): $(BUILD)/fuzz/%: $(BUILD)/fuzz/%.o $(BUILD)/fuzz/dvm/test/count_bytes.o
	@echo "  LD fuzz $@"
	@$(CC) $(LDFLAGS_fuzz) $(LDFLAGS_fuzz_target) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(OPERATOR_LDLIBS) -lhwloc
$(BUILD)/fuzz/dvm/host/test/fuzz_app: $(patsubst %,$(BUILD)/fuzz/dvm/host/%.o,test/alone iof/iof iof/tap pmix/jobtable cred/sign \
    clients/calls $(patsubst dvm/host/%.c,%,$(wildcard dvm/host/app/*.c)) \
    $(addprefix services/,collectives control events foreign_jobs modex pulled_output queries questions))
$(BUILD)/fuzz/corpus: $(BUILD)/fuzz/dvm/test/corpus.o $(FUZZ_WITH)
	@echo "  LD fuzz $@"
	@$(CC) $(LDFLAGS_fuzz) -o $@ $^ $(OPERATOR_LDLIBS) -lhwloc

examples: $(EXAMPLES:%=$(BUILD)/examples/%) ## MPI example programs into build/examples
$(BUILD)/examples/%: examples/%.c
	@mkdir -p $(@D)
	@echo "  MPICC $<"
	@$(MPICC) -O2 -Wall -Wextra -Werror -o $@ $< $(MPI_FLAGS) $(shell pkg-config --cflags --libs pmix 2>/dev/null) -lm -lpthread

# A PMIx client that the bats files run under prun.
$(BUILD)/probe/hostile_probe: dvm/test/hostile.h dvm/test/hostile_case.h
$(patsubst %,$(BUILD)/probe/%_probe,pmix hold): dvm/test/probe_event.h
$(BUILD)/probe/%: dvm/test/%.c dvm/test/probe.h
	@mkdir -p $(@D)
	@$(CC) $(CLIENT_CPPFLAGS) -std=gnu17 -O1 -g -Wall -Wextra -Werror -o $@ $< $(CLIENT_LDLIBS)

# Preloaded into daemons by bats files.
$(BUILD)/probe/%.so: dvm/test/%.c
	@mkdir -p $(@D)
	@$(CC) $(CLIENT_CPPFLAGS) -std=gnu17 -O1 -g -fPIC -shared -Wall -Wextra -Werror -o $@ $< -ldl

# Preloaded into the operator by bats files.
$(BUILD)/probe/%.so: operator/test/%.c
	@mkdir -p $(@D)
	@$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -O1 -fPIC -shared -o $@ $< -ldl

# A client that sends the messages that its arguments name.
$(BUILD)/probe/client_probe: $(BUILD)/release/dvm/test/client_probe.o $(foreach l,dvm core api base,$(BUILD)/release/lib$(l).a) | $(BUILD)/bin/dvm-connect
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS_release) $(LDFLAGS_release) -o $@ $^ $(LDLIBS)
	@ln -sf ../bin/dvm-connect $(@D)/dvm-connect

asan: $(PROGRAMS:%=$(BUILD)/asan/bin/%) ## the programs with ASan and UBSan into build/asan/bin

unit: $(TEST_BINS) $(MUTANT_TESTS) ## run the unit tests (cmocka; ASan, UBSan, LSan)
	@UNIT_TIMES=$(BUILD)/unit-times ci/unit.sh $(TEST_BINS) $(MUTANT_TESTS)

# Tests of a folder and below it, of one file in C, or of one bats file.
T ?=
NAME ?=
CHECKED := $(if $(T),$(filter $(BUILD)/asan/$(T:%/=%)/% $(BUILD)/asan/$(T:%.c=%),$(TEST_BINS)))
check: $(if $(filter %.bats,$(T)),all asan,$(CHECKED)) ## one folder's or file's tests: T=dvm/protocol/tree, T=dvm/test/links.bats NAME=regex
	@$(if $(filter %.bats,$(T)),$(BATS) $(if $(NAME),-f '$(NAME)') $(T),$(if $(CHECKED),ci/unit.sh $(CHECKED),echo "check: no tests in '$(T)'; T= names a folder, a test's source or a bats file" >&2; exit 2))

# TEST_BINS are linked by the script: those of the change only.
quick: $(LIBS:%=$(BUILD)/asan/lib%.a) $(BUILD)/release/sim ## a minute at most: unit tests that the change touches, 200 schedules, format and layers
	@ci/quick.sh $(BUILD) $(TEST_BINS)

soak-links: all ## 1,000 random faults of the links of a local DVM, 10 minutes; SOAK_FAULTS, SOAK_SEED, SOAK_BYTES for each fault
	@SOAK_FAULTS=$${SOAK_FAULTS:-1000} SOAK_BYTES=$${SOAK_BYTES:-2000000} BATS_TEST_TIMEOUT=1500 $(BATS) dvm/test/soak.bats

local: all asan ## run real jobs in local DVMs (bats; real Open MPI)
	@$(BATS) $(filter-out $(ATTACK_BATS),$(LOCAL_BATS))
	@$(if $(OWN_NET),,echo "# no network namespace can be made here: the tests of attacks use this host's network")
	@$(OWN_NET) $(BATS) $(ATTACK_BATS)

surroundings: all $(BUILD)/probe/pmix_probe ## some tests of local DVMs inside other launchers, without HOME, with umask 077 and a long TMPDIR
	@BUILD=$(BUILD) ci/surroundings.sh

api-test: all asan ## run the operator against a real API server (bats; skipped by name if its programs cannot be had)
	@! command -v go >/dev/null || e2e/provider/kind/binaries.sh etcd kube-apiserver kube-controller-manager kubectl helm || \
	    echo "no Kubernetes programs: the tests that need them are skipped"
	@$(BATS) $(wildcard operator/test/*.bats)

test-trixie: ## build and run what touches PMIx and MPI with Debian 13's libraries, in a root file system of its packages
	@$(BATS) ci/test/trixie.bats
	@ci/trixie.sh

patches-proof: ## show that the tests which each patch of libpmix names fail without it; PATCHES="0007 …" for some
	@CC='$(CC)' third_party/libpmix/prove.sh $(PATCHES)

test: ## all tests that need no cluster
	@ci/deps.sh
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory all asan
	@touch $(BUILD)/tests-begin
	@ci/beside.sh "$(MAKE) --no-print-directory local && $(MAKE) --no-print-directory surroundings" "$(MAKE) --no-print-directory api-test" \
	    "nice $(MAKE) --no-print-directory sim-test && nice $(MAKE) --no-print-directory lint-test docs-check core-check contract"
	@# A program that is linked again is missing for a moment.
	@! find $(BUILD)/{release,asan}/bin -type f -newer $(BUILD)/tests-begin | grep . || \
	    { echo "these programs were linked again while tests ran them"; exit 1; }

fuzz-smoke: $(FUZZ_BINS) $(BUILD)/fuzz/corpus ## run all fuzz targets, FUZZ_SECONDS=240 in all; prints what they have reached
	@FUZZ_SECONDS=$(FUZZ_SECONDS) ci/fuzz.sh $(BUILD)/fuzz $(FUZZ_BINS)
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=20

fuzz-long: $(FUZZ_BINS) $(BUILD)/fuzz/corpus ## the same with 5 minutes for each target, then for each kind of hostile seeds; over an hour
	@FUZZ_SECONDS=$$((300 * $(words $(FUZZ_BINS)))) ci/fuzz.sh $(BUILD)/fuzz $(FUZZ_BINS)
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=300
	@HOSTILE_FROM=1000000 $(MAKE) --no-print-directory fuzz FUZZ_SECONDS=300

fuzz: asan $(BUILD)/probe/hostile_probe ## attack the PMIx server's port of a real daemon with the sanitizers, FUZZ_SECONDS=240
	@FUZZ_SECONDS=$(FUZZ_SECONDS) ci/hostile.sh $(BUILD)

coverage: $(COV_BINS) $(BUILD)/cov/sim ## lines and branches of the core that its tests and COV_SEEDS=300 schedules reach
	@ci/coverage.sh $(BUILD)/cov $(COV_SEEDS) "$(CORE_MODULES)" $(COV_BINS)

deps: ## install what building and testing needs (Debian 12 or 13, as root or by sudo)
	@ci/deps.sh

deps-e2e: ## install what the test cluster needs
	@e2e/provider/deps.sh

images: ## build both images, dvm-operator:dev and dvm-daemon:dev, if their sources have changed
	@e2e/images.sh

ARM64 := --build-arg ARCH=arm64 --build-arg CROSS=aarch64-linux-gnu- --build-arg QEMU=qemu-aarch64
image-arm64: ## cross-build both images for arm64, dvm-operator:arm64 and dvm-daemon:arm64; qemu-user starts the operator once, and runs a job in a DVM
	@e2e/provider/build-image.sh Dockerfile . dvm-operator:arm64 $(ARM64)
	@e2e/provider/build-image.sh daemon-image/Dockerfile . dvm-daemon:arm64 $(ARM64) --build-arg BASE=scratch

e2e: ## test cluster, images, chart, then the scenarios; SCENARIOS="02 05" narrows it, E2E_KEEP=1 leaves it in place
	@e2e/run.sh $(SCENARIOS)

demo: ## a DVM on a cluster of its own, step by step; PROVIDER=none: on this host, without Kubernetes
	@demo/demo.sh

demo-down: ## remove the objects of the demo
	@demo/down.sh

$(BUILD)/release/ci/graphs: $(BUILD)/release/ci/graphs.o $(foreach l,core api base,$(BUILD)/release/lib$(l).a)
	@$(CC) $(CFLAGS_release) $(LDFLAGS_release) -o $@ $^ $(LDLIBS)

$(BUILD)/release/ci/policy: $(BUILD)/release/ci/policy.o $(foreach l,operator api base,$(BUILD)/release/lib$(l).a)
	@$(CC) $(CFLAGS_release) $(LDFLAGS_release) -o $@ $^ $(OPERATOR_LDLIBS)

# Where the tree looks at the set of live vpids is counted in bench/repair.
$(BUILD)/release/bench/repair: LDFLAGS_bench := -Wl,--wrap=hwloc_bitmap_isset,--wrap=hwloc_bitmap_next
$(BUILD)/release/bench/links: $(BUILD)/release/bench/link_node.o $(BUILD)/release/bench/link_raw.o $(BUILD)/release/bench/link_chain.o $(BUILD)/release/bench/link_relay.o $(BUILD)/release/dvm/host/services/peers.o
$(BUILD)/release/bench/%: $(BUILD)/release/bench/%.o $(BUILD)/release/bench/figures.o $(foreach l,dvm core api base,$(BUILD)/release/lib$(l).a) $(BUILD)/libpmix/release/lib/libpmix.a
	@echo "  LD release $@"
	@$(CC) $(CFLAGS_release) $(LDFLAGS_release) $(LDFLAGS_bench) -o $@ $^ $(LDLIBS)

$(BUILD)/release/bench/follow $(BUILD)/release/bench/plan: $(BUILD)/release/bench/%: $(BUILD)/release/bench/%.o $(BUILD)/release/bench/figures.o $(foreach l,operator api base,$(BUILD)/release/lib$(l).a)
	@echo "  LD release $@"
	@$(CC) $(CFLAGS_release) $(LDFLAGS_release) -o $@ $^ $(OPERATOR_LDLIBS)

# Preloaded into daemons by bench/heap.sh.
$(BUILD)/release/bench/heap.so: bench/heap.c
	@mkdir -p $(@D)
	@echo "  LD release $@"
	@$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -O2 -fPIC -shared -o $@ $<

$(BUILD)/release/bench/pingpong: bench/pingpong.c
	@mkdir -p $(@D)
	@echo "  MPICC $<"
	@$(MPICC) -O2 -Wall -Wextra -Werror -o $@ $< $(MPI_FLAGS)

# The heads that bench/operator.sh gives to the operator.
$(BUILD)/release/operator/test/fakehead: $(BUILD)/release/operator/test/fakehead.o $(foreach l,operator api base,$(BUILD)/release/lib$(l).a)
	@echo "  LD release $@"
	@$(CC) $(CFLAGS_release) $(LDFLAGS_release) -o $@ $^ $(OPERATOR_LDLIBS)

benches: $(BUILD)/release/operator/test/fakehead $(BUILD)/release/bench/heap.so $(BENCHES:%=$(BUILD)/release/bench/%) ## build the programs that measure

bench: all benches ## measure this host: JSON lines (docs/benchmarks.md); BENCH="local" narrows it; k8s: on the test cluster
	@bench/run.sh $(BENCH)

model: ## check the models of protocols with spin, and that it finds their deliberate mistakes
	@ci/model.sh $(BUILD)

core-check: all asan $(BUILD)/release/sim $(BUILD)/mutant/sim ## fail if prted and sim hold different cores, a mutant is released, a symbol of a library is ours, or a seed is not replayed
	@ci/archives.sh
	@ci/graph.sh $(BUILD) ci/graph.txt
	@ci/symbols.sh
	@$(BATS) ci/test/archives.bats ci/test/graph.bats ci/test/symbols.bats dvm/sim/test/sim.bats

graph: all $(BUILD)/release/sim ## the calls between files, from their objects: cycles and counts; fail if there is a new cycle
	@ci/graph.sh $(BUILD) ci/graph.txt

sim-test: $(BUILD)/asan/sim $(BUILD)/release/sim ## 2,000 random schedules with up to 64 daemons, some 270 with keepers, 12 with 1,024, 400 and some 15 with fresh seeds; the matrix of what they have met
	@ci/sim.sh ci $(BUILD)

FROM ?= 1
sim-long: $(BUILD)/release/sim ## random schedules on all cores: SEEDS=200000, FROM=1 or SEEDS=1..200000
	@ci/sim.sh long $(BUILD) "$(SEEDS)" "$(FROM)"

MUTATE_DIRS ?= head member xcast rml gather peer neighbour
MUTATE_SAMPLE ?= 0
MUTATE_SEED ?= 1
MUTATE_TESTS := $(foreach d,$(MUTATE_DIRS) core,$(wildcard dvm/protocol/$(d)/test/test_*.c dvm/protocol/$(d)/*/test/test_*.c))
MUTATE_HELPERS := $(foreach d,head/journal wire wire/msg transfer core,$(filter-out dvm/protocol/$(d)/test/test_%.c dvm/protocol/$(d)/test/fuzz_%.c,$(wildcard dvm/protocol/$(d)/test/*.c)))
mutate: $(BUILD)/mutant/sim $(patsubst %.c,$(BUILD)/asan/%.o,$(MUTATE_TESTS) $(MUTATE_HELPERS)) $(patsubst %,$(BUILD)/asan/lib%.a,sim core api base) ## mistakes by rule in the protocols and what survives the tests; hours, or MUTATE_SAMPLE=100 MUTATE_SEED=1 MUTATE_DIRS="rml xcast"
	@CC="$(CC)" FLAGS_SIM="$(CPPFLAGS) $(CFLAGS_ALL) $(CFLAGS_mutant)" FLAGS_ASAN="$(CPPFLAGS) $(CFLAGS_ALL) $(CFLAGS_asan)" LINK_ASAN="$(LDFLAGS_asan)" LDLIBS="$(LDLIBS)" HELPERS="$(patsubst %.c,$(BUILD)/asan/%.o,$(MUTATE_HELPERS))" \
	    DIRS="$(MUTATE_DIRS)" SAMPLE=$(MUTATE_SAMPLE) SEED=$(MUTATE_SEED) ci/mutations.sh $(BUILD)

contract: $(BUILD)/mutant/sim $(CONTRACT_TESTS:%=$(BUILD)/mutant/%) ## the contract's rules, their tests, and the mutants under which these fail
	@ci/contract.sh

CRD := crds/dvm.openpmix.io_dvmclusters.yaml
docs-graphs: $(BUILD)/release/ci/graphs ## write the state machines of the tables to docs/graphs, and the fields of the CRD to docs/operator
	@mkdir -p docs/graphs && $< docs/graphs
	@LC_ALL=C awk -f ci/fields.awk $(CRD) > docs/operator/fields.md

POLICY ?= charts/dvm-operator/template-policy.yaml
POLICY_PAGE ?= docs/operator/template-fields.md
policy: $(BUILD)/release/ci/policy ## write the template policy of the table for the chart's admission policy and for docs/operator
	@$< cel > $(POLICY)
	@$< markdown > $(POLICY_PAGE)

GRAPHS ?= docs/graphs
FIELDS ?= docs/operator/fields.md
docs-check: $(BUILD)/release/ci/graphs $(BUILD)/release/ci/policy | $(PMIX_HEADERS) ## fail if docs/ or the chart's policy is not what the source says: graphs, policy, tests, PMIx
	@rm -rf $(BUILD)/graphs && mkdir -p $(BUILD)/graphs && $< $(BUILD)/graphs
	@diff -ru $(GRAPHS) $(BUILD)/graphs || { echo "docs/graphs is not what the tables say: make docs-graphs"; exit 1; }
	@LC_ALL=C awk -f ci/fields.awk $(CRD) | diff -u $(FIELDS) - || { echo "docs/operator/fields.md is not what the CRD says: make docs-graphs"; exit 1; }
	@$(BUILD)/release/ci/policy cel | diff -u $(POLICY) - || { echo "$(POLICY) is not what the table says: make policy, make manifest"; exit 1; }
	@$(BUILD)/release/ci/policy markdown | diff -u $(POLICY_PAGE) - || { echo "$(POLICY_PAGE) is not what the table says: make policy"; exit 1; }
	@ci/docs.sh

manifest: ## write deploy/dvm-operator.yaml, the chart's objects for kubectl apply --server-side
	@mkdir -p $(BUILD) deploy && ci/manifest.sh > $(BUILD)/manifest.yaml && mv $(BUILD)/manifest.yaml deploy/dvm-operator.yaml

lint: $(if $(GATES),,all) ## style, layers, sizes, clang-tidy, libraries of programs; GATES="format tidy" and LINT_PATHS="dvm/protocol/wire" narrow it
	@ci/lint.sh $(GATES)
	@$(if $(GATES),,ci/libraries.sh)

lint-test: all ## shows that every gate of lint and docs-check refuses a bad sample, and that what hangs is ended
	@$(BATS) ci/test/lint.bats ci/test/docs.bats ci/test/libraries.bats ci/test/quick.bats ci/test/unit.bats ci/test/beside.bats ci/test/steps.bats ci/test/surroundings.bats ci/test/demo.bats

clean: ## remove build/
	rm -rf $(BUILD)

# From the programs' own --help; what they are for, from the second line of their source.
$(BUILD)/man/%.1: $(BUILD)/bin/%
	@mkdir -p $(@D)
	@help2man -N -s 1 -n "$$(sed -nE '2s,^/\* ($*: )?(.*)\.( \*/)?$$,\2,p' $(wildcard dvm/bin/$*.c operator/main.c))" -o $@ $<

man: $(PROGRAMS:%=$(BUILD)/man/%.1) ## make manual pages into build/man

install: all ## install programs, and manual pages if they have been made, into $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin
	for p in $(PROGRAMS); do install -m 755 $(BUILD)/release/bin/$$p $(DESTDIR)$(PREFIX)/bin/; done
	for m in $(wildcard $(BUILD)/man/*.1); do install -D -m 644 $$m -t $(DESTDIR)$(PREFIX)/share/man/man1/; done

help: ## this text
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

-include $(shell [ -d $(BUILD) ] && find $(BUILD) -path $(BUILD)/trixie -prune -o -name '*.d' -print)
.PHONY: all check quick model mutate core-check contract sim-test sim-long examples asan unit local surroundings soak-links api-test test test-trixie patches-proof fuzz fuzz-long fuzz-smoke coverage deps deps-e2e images image-arm64 e2e demo demo-down bench benches docs-graphs docs-check policy manifest lint lint-test man clean install help
