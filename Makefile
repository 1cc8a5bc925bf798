# Isomer. Source files are found by their folders, so a new one needs no line here.
#   make [all]           the library, the programs, manual pages and shell completion, in build/
#   make test            every test; ONLY="ops_ test_models" runs those whose names begin with one
#                        of these
#   make demo            installs what is missing, builds, optimizes two public models
#   make fresh           demo and test in minimal systems in folders (root): test/bench/MACHINES.md
#   make fresh ARCH=arm64    builds for 64-bit ARM and runs the tests in an emulator: the same page
#   make install         into PREFIX (/usr/local), below DESTDIR
#   make deb             Debian packages, in build/deb
#   make prove           proves rules/library again; make rules: generates rules/generated again
#   make discover        discovers rules that models ask for, and keeps those that pay
#   make rediscover      measures how much of the library's gain discovered rules alone regain
#   make atlas           rules/discovered/ATLAS.md: faster equals of single operators on a target
#   make bench           test/bench/RESULTS.md; make roundtrip: test/onnx/ROUNDTRIP.md
#   make asan | ubsan | check-ndebug | coverage    the tests in other builds
#   make random | random-peers    random models (test/random): N=.. SEED=.. FIRST=..
#   make test-heavy | check-mutants | check-classes | fuzz | mutate-models    tests that take long
#   make gpu-offline     all checks of the back end for GPUs that need none: test/cuda/OFFLINE.md
#   make clean
# Variables: CC=clang, BUILD=dir, WERROR=1, OPTIMIZE=-O2, EXTRA=flags, DNN=none (without oneDNN),
#   CUDA=none (without the back end for GPUs), PROCESSOR=x86_64|arm64|any.
# For libraries in another prefix: PKG_CONFIG_PATH, or EXTRA="-I.. -L..".

CC ?= cc
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
PYTHON ?= $(or $(ISOMER_VENV),.venv)/bin/python
VERSION := 0.1.0
DATE := 2026-11-21

OPTIMIZE ?= -O2
WARNINGS := -Wall -Wextra -Wshadow -Wconversion
LANGUAGE := -std=c11 -D_GNU_SOURCE -DISOMER_VERSION='"$(VERSION)"' -ffp-contract=off -fPIC \
    -fvisibility=hidden -pthread
COMPILE = $(CC) $(LANGUAGE) $(OPTIMIZE) -g -ffile-prefix-map=$(CURDIR)=. $(EXTRA) $(CFLAGS) \
    $(CPPFLAGS) $(FOUND) -I. -I$(BUILD)/gen

# The libraries, as MODULE:NAME: the module of pkg-config, and the name for -l if there is none. DNN
# is the major version of oneDNN, taken from its header; DNN=none builds without oneDNN.
DNN ?= $(shell printf '\043include <oneapi/dnnl/dnnl_version.h>\nDNNL_VERSION_MAJOR\n' | \
    $(CC) $(EXTRA) $(CFLAGS) -E -P - 2>/dev/null | tail -n 1)
override DNN := $(or $(filter 2 3,$(DNN)),none)
# Not empty if the header declares oneDNN's micro-kernel, as version 3.8 and later may do.
DNN_UKERNEL := $(if $(filter 3,$(DNN)),$(shell printf '\043include <oneapi/dnnl/dnnl_%s.h>\n' \
    config version | { cat; printf '\043if defined DNNL_EXPERIMENTAL_UKERNEL && \
    DNNL_VERSION_MINOR >= 8\nyes\n\043endif\n'; } | \
    $(CC) $(EXTRA) $(CFLAGS) -E -P - 2>/dev/null | tail -n 1))
PKG_CONFIG ?= pkg-config
PROTOC ?= $(or $(shell command -v protoc-c),protoc)
libraries = $(shell for l in $(1); do $(PKG_CONFIG) --$(2) $${l%:*} 2>/dev/null || \
    [ $(2) = cflags ] || echo $$l | sed 's/.*:/-l/'; done)
NEEDED := libxxhash:xxhash sqlite3:sqlite3 libcjson:cjson libprotobuf-c:protobuf-c libzip:zip \
    $(if $(filter none,$(DNN)),,dnnl:dnnl)
FOUND := $(call libraries,$(NEEDED) z3:z3 cmocka:cmocka,cflags)
LIBS := $(LDFLAGS) -Wl,--as-needed $(call libraries,$(NEEDED),libs) -ldl -lm -lpthread
Z3 := $(call libraries,z3:z3,libs)
CMOCKA := $(call libraries,cmocka:cmocka,libs)

# The files with a main. Each program has the name of such a file.
MAINS := graphs/run_model.c rules/export_rules.c search/optimize_model.c \
    generator/generate_rules.c generator/compare_rules.c generator/discover_rules.c \
    verifier/verify_rules.c
# Files that belong only to run-model and not to a library.
RUN_MODEL := $(wildcard graphs/run_model_*.c)
# The back end for NVIDIA's GPUs is built if CUDA's headers are found, in CUDA_HOME or in the wheels
# of the virtual environment or of python3. CUDA=none builds without it. It is not linked with CUDA.
CUDA_HOME ?= /usr/local/cuda
CUDA_FOLDERS := $(if $(filter none,$(CUDA)),,$(CUDA_HOME)/include \
    $(wildcard $(foreach p,$(PYTHON) $(shell command -v python3), \
    $(dir $p)../lib/python3*/site-packages/nvidia/*/include)))
CUDA_HEADERS := $(foreach h,cuda nvrtc cublasLt cudnn,$(firstword $(wildcard \
    $(CUDA_FOLDERS:%=%/$h.h))))
CUDA_FLAGS := $(addprefix -isystem ,$(sort $(patsubst %/,%,$(dir $(CUDA_HEADERS)))))
CUDA_PLUGIN := $(if $(filter 4,$(words $(CUDA_HEADERS))),$(BUILD)/isomer-cuda.so)
FOLDERS := ops $(addprefix ops/,backend base core cpu operator) graphs graphs/plan graphs/onnx \
    $(addprefix graphs/onnx/,file import export) rules search \
    $(addprefix search/,runtime command check show)
# Each family of processors has a file for what differs between them, and files with inner loops for
# its instruction sets. PROCESSOR=any is plain C.
PROCESSOR ?= $(patsubst aarch64,arm64,$(firstword $(subst -, ,$(shell $(CC) -dumpmachine))))
FAMILIES := x86_64 arm64 any
override PROCESSOR := $(or $(filter $(FAMILIES),$(PROCESSOR)),any)
LOOPS_x86_64 := avx2 avx512
LOOPS_arm64 := neon
OTHERS := $(filter-out $(PROCESSOR),$(FAMILIES))
UNUSED := $(patsubst %,ops/cpu/processor_%.c,$(OTHERS)) \
    $(patsubst %,ops/cpu/simd_%.c,$(foreach f,$(OTHERS),$(LOOPS_$f)))
UNUSED += $(patsubst %,%_$(if $(filter x86_64,$(PROCESSOR)),any,x86_64).c,\
    generator/run search/byte_products)
UNUSED += $(if $(filter none,$(DNN)),$(filter-out %_none.c,$(wildcard ops/cpu/dnn*.c)),\
    $(filter-out ops/cpu/dnn_$(DNN).c,$(wildcard ops/cpu/dnn_[0-9n]*.c)))
UNUSED += ops/cpu/dnn_ukernel$(if $(DNN_UKERNEL),_none).c
# This program is used only by the build.
PRINT_DIGESTS := ops/operator/print_digests.c
sources = $(filter-out $(MAINS) $(RUN_MODEL) $(PRINT_DIGESTS) $(UNUSED), \
    $(sort $(wildcard $(addsuffix /*.c,$(1)))))
objects = $(patsubst %.c,$(BUILD)/%.o,$(1))

LIBRARY := $(call objects,$(call sources,$(FOLDERS))) \
    $(addprefix $(BUILD)/gen/,digests.o onnx.pb-c.o)
GENERATOR := $(call objects,$(call sources,generator generator/discover))
VERIFIER := $(call objects,$(call sources,verifier))
PROGRAMS := $(addprefix $(BUILD)/,$(subst _,-,$(basename $(notdir $(MAINS)))))
# This program is built if MPI is installed.
MPICC ?= $(shell command -v mpicc)
MPI_PROGRAMS := $(if $(MPICC),$(BUILD)/generate-rules-mpi)
TESTS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard test/*.c)))
FUZZED := $(filter-out test/fuzz/entry.c test/fuzz/forks.c,$(wildcard test/fuzz/*.c))
SHARED := $(call objects,$(sort $(wildcard test/shared/*.c) $(FUZZED)))
TOOLS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard test/tools/*.c)))
FORKS := $(BUILD)/test/tools/optimize-forks
PLUGINS := $(patsubst %.c,$(BUILD)/%.so,$(sort $(wildcard test/plugin/*.c))) \
    $(if $(CUDA_PLUGIN),$(addprefix $(BUILD)/test/cuda/isomer-,host.so lt.so nvrtc.so dnn.so))
ARCHIVES := $(BUILD)/libisomer.a $(BUILD)/libgenerator.a $(BUILD)/libverifier.a

.PHONY: all install clean force programs-of-tests test run-tests test-heavy check-ndebug asan ubsan
.PHONY: coverage demo deb fresh check-compilers check-deb bench roundtrip prove rules check-mutants
.PHONY: check-classes fuzz discover rediscover atlas fuzzers mutate-models gpu-offline
.PHONY: check-obligations edges
.SECONDARY:
.DELETE_ON_ERROR:

# Manual pages and shell completion, which the programs print from their tables of options.
NAMES := $(notdir $(PROGRAMS))
MANUALS := $(NAMES:%=$(BUILD)/man/%.1)
COMPLETIONS := $(NAMES:%=$(BUILD)/completions/%) $(NAMES:%=$(BUILD)/completions/_%)

all: $(ARCHIVES) $(BUILD)/libisomer.so $(CUDA_PLUGIN)
all: $(PROGRAMS) $(MPI_PROGRAMS) $(MANUALS) $(COMPLETIONS)

$(BUILD)/libisomer.a: $(LIBRARY)
$(BUILD)/libgenerator.a: $(GENERATOR)
$(BUILD)/libverifier.a: $(VERIFIER)
$(BUILD)/libtest.a: $(SHARED)
$(BUILD)/%.a: $(BUILD)/list
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $(filter %.o,$^)

# The interface of the shared library is listed in isomer.abi.
SONAME := libisomer.so.0
$(BUILD)/libisomer.so: $(LIBRARY) $(BUILD)/list search/isomer.abi
	$(COMPILE) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=search/isomer.abi -o $@ \
	    $(filter %.o,$^) $(LIBS)

$(BUILD)/run-model: $(BUILD)/graphs/run_model.o $(call objects,$(RUN_MODEL)) $(BUILD)/libisomer.a
$(BUILD)/export-rules: $(BUILD)/rules/export_rules.o $(BUILD)/libisomer.a
$(BUILD)/optimize-model: $(BUILD)/search/optimize_model.o $(BUILD)/libisomer.a
$(BUILD)/generate-rules: $(BUILD)/generator/generate_rules.o $(BUILD)/libgenerator.a
$(BUILD)/generate-rules: $(BUILD)/libisomer.a
$(BUILD)/compare-rules: $(BUILD)/generator/compare_rules.o $(BUILD)/libgenerator.a
$(BUILD)/compare-rules: $(BUILD)/libisomer.a
$(BUILD)/discover-rules: $(BUILD)/generator/discover_rules.o $(BUILD)/libgenerator.a
$(BUILD)/discover-rules: $(BUILD)/libisomer.a
$(BUILD)/verify-rules: $(BUILD)/verifier/verify_rules.o $(BUILD)/libverifier.a $(BUILD)/libisomer.a
$(BUILD)/verify-rules: private LIBS += $(Z3)
$(PROGRAMS):
	$(COMPILE) -o $@ $^ $(LIBS)

$(BUILD)/generate-rules-mpi: $(BUILD)/libgenerator.a $(BUILD)/libisomer.a
$(BUILD)/generate-rules-mpi: generator/mpi/generate_rules_mpi.c generator/generate.h
	OMPI_CC="$(CC)" MPICH_CC="$(CC)" $(MPICC) $(LANGUAGE) $(OPTIMIZE) -g $(EXTRA) $(CFLAGS) \
	    $(WARNINGS) $(if $(WERROR),-Werror) -I. -o $@ $(filter %.c %.a,$^) $(LIBS)

$(MANUALS): $(BUILD)/man/%.1: $(BUILD)/%
	@mkdir -p $(@D)
	$< --help=man > $@
$(NAMES:%=$(BUILD)/completions/%): $(BUILD)/completions/%: $(BUILD)/%
	@mkdir -p $(@D)
	$< --help=bash > $@
$(NAMES:%=$(BUILD)/completions/_%): $(BUILD)/completions/_%: $(BUILD)/%
	@mkdir -p $(@D)
	$< --help=zsh > $@

# Each test/FOLDER_FILE.c is a cmocka program, linked with the code of test/shared and the library;
# those of the verifier and of the generator are also linked with its archive.
$(BUILD)/test/%: $(BUILD)/test/%.o $(BUILD)/libtest.a $(ARCHIVES)
	$(COMPILE) -o $@ $< $(BUILD)/libtest.a $(filter %/lib$(firstword $(subst _, ,$*)).a,$(ARCHIVES)) \
	    $(BUILD)/libisomer.a $(CMOCKA) $(LIBS) $(if $(filter verifier_%,$*),$(Z3))

# Small programs that the tests in Python run.
$(BUILD)/test/tools/%: $(BUILD)/test/tools/%.o $(BUILD)/libtest.a $(BUILD)/libisomer.a
	$(COMPILE) -o $@ $^ $(CMOCKA) $(LIBS)

# Plug-ins are built as a user would build them, with only the installed header. One of them also
# uses the tests' reference.
$(BUILD)/test/plugin/wrong_backend.so: private INCLUDE := -I.
$(BUILD)/test/plugin/%.so: test/plugin/%.c $(BUILD)/include/isomer_backend.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -fPIC $(OPTIMIZE) -g $(EXTRA) $(CFLAGS) $(WARNINGS) \
	    $(if $(WERROR),-Werror) -I$(BUILD)/include $(INCLUDE) -shared -o $@ $<
$(BUILD)/include/isomer_backend.h: ops/backend/isomer_backend.h
	@mkdir -p $(@D)
	cp $< $@

# The plug-in for GPUs, and variants of it for tests without a GPU: all on the host; the same with
# the real code for cuBLASLt; kernels compiled by NVRTC, which are not run; cuDNN's plans for a
# described GPU.
GPU := $(call objects,$(sort $(wildcard ops/cuda/*.c))) $(BUILD)/gen/cuda_prelude.o
OWN := $(filter-out $(patsubst %,\%/ops/cuda/%.o,driver compiler library lt dnn dnn_graph),$(GPU))
FAKE := $(addprefix $(BUILD)/test/cuda/isomer-,host.so lt.so nvrtc.so dnn.so)
NVRTC := $(addprefix $(BUILD)/ops/cuda/,compiler.o library.o)
$(BUILD)/isomer-cuda.so: $(GPU)
HOST_START := $(BUILD)/test/cuda/start.h
HOST_COMPILE := gcc -std=c11 -D_GNU_SOURCE -O0 -w -fno-strict-aliasing -fwrapv -ffp-contract=off \
    -fsanitize=alignment -fsanitize-undefined-trap-on-error -fPIC -I.
$(HOST_START): test/cuda/host.h ops/cuda/prelude.h
	@mkdir -p $(@D)
	printf '#include "%s"\n' $^ > $@
$(HOST_START).gch: $(HOST_START)
	$(HOST_COMPILE) -x c-header -o $@ $<
$(BUILD)/test/cuda/host_compiler.o: $(HOST_START).gch
$(BUILD)/test/cuda/host_compiler.o: private ISA = $(CUDA_FLAGS) \
    -DHOST_START='"$(HOST_START)"' -DHOST_COMPILE='"$(HOST_COMPILE)"'
$(BUILD)/test/cuda/isomer-host.so: $(addprefix $(BUILD)/test/cuda/,host_compiler.o no_dnn.o)
$(BUILD)/test/cuda/isomer-lt.so: $(BUILD)/ops/cuda/lt.o \
    $(addprefix $(BUILD)/test/cuda/,host_compiler.o host_cublaslt.o no_dnn.o)
$(BUILD)/test/cuda/isomer-nvrtc.so: $(NVRTC) $(BUILD)/test/cuda/no_dnn.o
$(BUILD)/test/cuda/isomer-dnn.so: $(NVRTC) $(addprefix $(BUILD)/ops/cuda/,dnn.o dnn_graph.o)
$(filter-out %lt.so,$(FAKE)): $(BUILD)/test/cuda/host_lt.o
$(FAKE): $(OWN) $(BUILD)/test/cuda/host_driver.o
$(FAKE) $(BUILD)/isomer-cuda.so: $(BUILD)/list
	@mkdir -p $(@D)
	$(COMPILE) -shared -o $@ $(filter %.o,$^) $(LDFLAGS) -ldl
$(BUILD)/ops/cuda/%.o $(BUILD)/test/cuda/%.o: private ISA = $(CUDA_FLAGS)
$(BUILD)/ops/cuda/device.o: $(BUILD)/cuda-flags
$(BUILD)/cuda-flags: $(BUILD)/flags # for scripts/check-warnings
	@echo '$(CUDA_FLAGS)' > $@
# A digest of what writes kernels and of the text that they begin with, part of the key of times.
CUDA_KERNELS := $(filter-out %/cuda/device.o,$(GPU))
$(BUILD)/cuda-kernels.made: $(CUDA_KERNELS) scripts/digest-objects
	@scripts/digest-objects $(CUDA_KERNELS) > $@
	@cmp -s $@ $(BUILD)/cuda-kernels || cp $@ $(BUILD)/cuda-kernels
$(BUILD)/cuda-kernels: $(BUILD)/cuda-kernels.made ;
$(BUILD)/ops/cuda/device.o: $(BUILD)/cuda-kernels
$(BUILD)/ops/cuda/device.o: private ISA = $(CUDA_FLAGS) \
    -DISOMER_CUDA_KERNELS='"$(shell cat $(BUILD)/cuda-kernels)"'
# The text with which every kernel begins, as a string.
$(BUILD)/gen/cuda_prelude.c: ops/cuda/prelude.h
	@mkdir -p $(@D)
	{ echo '#include "ops/cuda/source.h"'; echo 'const char source_prelude[] ='; \
	    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$$/\\n"/' $<; \
	    echo '    ;'; } > $@
$(BUILD)/gen/cuda_prelude.o: $(BUILD)/gen/cuda_prelude.c $(BUILD)/flags
	$(COMPILE) -c -o $@ $<

$(BUILD)/ops/base/options_page.o: private ISA := -DISOMER_DATE='"$(DATE)"'

# Kernels for an instruction set are compiled for it and chosen when the program runs; all other
# code runs on any machine of the family.
LOOPS := -O3 -fopenmp-simd -Wno-pass-failed -fno-math-errno -fno-trapping-math \
    $(patsubst %,-include %,$(wildcard ops/cpu/mvec_$(PROCESSOR).h))
AVX2 := -ffp-contract=fast -mavx2 -mfma -mprfchw
AVX512 := -ffp-contract=fast -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprfchw \
    -mprefer-vector-width=512
$(addprefix $(BUILD)/ops/,$(addprefix cpu/,simd_base.o copy.o reduce.o scatter.o taps.o) \
    core/loop_block.o core/loop_run.o core/loop_whole.o): private ISA := $(LOOPS)
NEON := -ffp-contract=fast
$(BUILD)/ops/cpu/%_neon.o: private ISA := $(LOOPS) $(NEON)
$(BUILD)/ops/cpu/%_avx2.o: private ISA := $(LOOPS) $(AVX2)
$(BUILD)/ops/cpu/%_avx512.o: private ISA := $(LOOPS) $(AVX512)

# A digest of all compiled code that runs in steps, which is part of the key of every measured time.
# It is compiled into cpu.o, which therefore cannot be part of it.
KERNELS := $(filter-out %/cpu/cpu.o,$(call objects,$(call sources,ops ops/operator ops/cpu) \
    $(sort $(addprefix ops/,core/element.c core/number.c backend/view.c backend/windows.c \
    base/random.c) $(wildcard ops/core/loop*.c))))
$(BUILD)/kernels.made: $(KERNELS) scripts/digest-objects
	@scripts/digest-objects $(KERNELS) > $@
	@cmp -s $@ $(BUILD)/kernels || cp $@ $(BUILD)/kernels
$(BUILD)/kernels: $(BUILD)/kernels.made ;
$(BUILD)/ops/cpu/cpu.o: $(BUILD)/kernels
$(BUILD)/ops/cpu/cpu.o: private ISA = -DISOMER_KERNELS='"$(shell cat $(BUILD)/kernels)"'

$(BUILD)/%.o: %.c $(BUILD)/flags | $(BUILD)/gen/onnx.pb-c.h $(BUILD)/gen/onnx_fields.h
	@mkdir -p $(@D)
	$(COMPILE) $(ISA) $(WARNINGS) $(if $(WERROR),-Werror) -MMD -MP -c -o $@ $<

# The digests of the operators' definitions, as a table.
DEFINITIONS := $(filter-out %/digest_table.c,$(call sources,$(filter ops%,$(FOLDERS))))
$(BUILD)/gen/print-digests: $(call objects,$(PRINT_DIGESTS) $(DEFINITIONS))
	@mkdir -p $(@D)
	$(COMPILE) -o $@ $^ $(LIBS)
$(BUILD)/gen/digests.c: $(BUILD)/gen/print-digests
	$< > $@
$(BUILD)/gen/digests.o: $(BUILD)/gen/digests.c $(BUILD)/flags
	$(COMPILE) -c -o $@ $<

$(BUILD)/gen/onnx.pb-c.o: $(BUILD)/gen/onnx.pb-c.c $(BUILD)/flags
	$(COMPILE) -w -c -o $@ $<
$(BUILD)/gen/onnx.pb-c.c: $(BUILD)/gen/onnx.pb-c.h
$(BUILD)/gen/onnx.pb-c.h: graphs/onnx/onnx.proto
	@mkdir -p $(@D)
	$(PROTOC) --proto_path=$(<D) --c_out=$(@D) $<
$(BUILD)/gen/onnx_fields.h: graphs/onnx/onnx.proto scripts/proto-fields
	@mkdir -p $(@D)
	scripts/proto-fields $< > $@

# Two files that are rewritten only if their contents change: `flags`, when the compiler or its
# flags change, so that everything is compiled again; and `list`, when a source file is added or
# removed, so that everything is linked again.
$(BUILD)/flags: STATE = $(COMPILE) $(WARNINGS)
$(BUILD)/list: STATE = $(LIBRARY) $(GENERATOR) $(VERIFIER) $(SHARED) $(GPU)
$(BUILD)/flags $(BUILD)/list: force
	@mkdir -p $(@D)
	@echo '$(STATE)' | cmp -s - $@ || echo '$(STATE)' > $@

# As many jobs as there are processors, unless the user says how many.
PARALLEL = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

programs-of-tests: all $(TESTS) $(TOOLS) $(FORKS) $(PLUGINS)
# First installs what is missing, then starts another make, which looks for libraries afterwards.
test:
	@scripts/install-dependencies test
	@$(MAKE) --no-print-directory $(PARALLEL) run-tests
run-tests: programs-of-tests
	@BUILD=$(BUILD) CC="$(CC)" PYTHON=$(PYTHON) scripts/run-tests $(ONLY)

# The same tests in other builds.
check-ndebug:
	$(MAKE) test BUILD=$(BUILD)/ndebug EXTRA=-DNDEBUG
asan:
	TEST_TIMEOUT=1800 LSAN_OPTIONS=suppressions=$(CURDIR)/test/leaks.txt:print_suppressions=0 \
	    $(MAKE) test BUILD=$(BUILD)/asan OPTIMIZE=-O1 \
	    EXTRA="-fsanitize=address -fno-omit-frame-pointer"
ubsan:
	TEST_TIMEOUT=1800 $(MAKE) test BUILD=$(BUILD)/ubsan OPTIMIZE=-O1 \
	    EXTRA="-fsanitize=undefined,float-cast-overflow -fno-sanitize-recover=all"

coverage:
	BUILD=$(BUILD) PYTHON=$(PYTHON) scripts/coverage

# Fuzzing programs use clang's libFuzzer with the address and undefined-behaviour sanitizers. The
# target fuzz runs each of them for FUZZ_SECONDS, starting from test/fuzz/seeds.
SANITIZED := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_SECONDS ?= 60
FUZZ ?= $(patsubst test/fuzz/target_%.c,%,$(sort $(wildcard test/fuzz/target_*.c)))
fuzzers: $(addprefix $(BUILD)/fuzz-,$(FUZZ))
$(BUILD)/fuzz-%: test/fuzz/entry.c $(BUILD)/libtest.a $(BUILD)/libisomer.a
	$(COMPILE) $(WARNINGS) -fsanitize=fuzzer -DFUZZ=fuzz_$* -o $@ $^ $(LIBS)
fuzz:
	$(MAKE) fuzzers FUZZ="$(FUZZ)" BUILD=$(BUILD)/fuzz CC=clang OPTIMIZE=-O1 \
	    EXTRA="-fsanitize=fuzzer-no-link $(SANITIZED)"
	BUILD=$(BUILD)/fuzz scripts/fuzz $(FUZZ_SECONDS) $(FUZZ)

# Sends N damaged model files through optimize-model, under the sanitizers. One process reads the
# rules, and each run is a child of it.
N ?= 1000
SEED ?= 1
WRAPPED := main graph_world_new world_free library_open escape_raise
$(FORKS): $(BUILD)/test/fuzz/forks.o $(BUILD)/search/optimize_model.o $(BUILD)/libisomer.a
	@mkdir -p $(@D)
	$(COMPILE) $(WRAPPED:%=-Wl,--wrap=%) -o $@ $^ $(LIBS)
mutate-models:
	$(MAKE) $(FORKS:$(BUILD)%=$(BUILD)/asan-ubsan%) BUILD=$(BUILD)/asan-ubsan OPTIMIZE=-O1 \
	    EXTRA="$(SANITIZED)"
	BUILD=$(BUILD)/asan-ubsan $(PYTHON) test/fuzz/mutate.py $(N) $(SEED)

# random sends N random models through optimize-model and checks everything, half of them under the
# sanitizers; random-peers runs other optimizers on the same models. RESULTS=1 writes
# test/random/RESULTS.md.
FIRST ?= 0
random: programs-of-tests
	$(MAKE) $(FORKS:$(BUILD)%=$(BUILD)/asan-ubsan%) BUILD=$(BUILD)/asan-ubsan OPTIMIZE=-O1 \
	    EXTRA="$(SANITIZED)"
	BUILD=$(BUILD) $(PYTHON) test/random/run.py $(N) $(SEED) $(FIRST)
random-peers: programs-of-tests
	test/random/install-peers $(BUILD)/peers
	BUILD=$(BUILD) $(PYTHON) test/random/peers.py $(N) $(SEED)

# Runs in full the tests of which make test takes a sample (test/README.md).
test-heavy: programs-of-tests
	ISOMER_HEAVY=1 TEST_TIMEOUT=3000 BUILD=$(BUILD) CC="$(CC)" PYTHON=$(PYTHON) \
	    scripts/run-tests search_faults test_untrusted test_generator_runs test_random_models

# Checks the back end for GPUs without one, in parts that can be interrupted: PARTS="sm_90 plans".
PARTS ?=
gpu-offline: programs-of-tests
	BUILD=$(BUILD) $(PYTHON) scripts/gpu_offline.py $(PARTS)

demo:
	@scripts/install-dependencies demo
	@$(MAKE) --no-print-directory $(PARALLEL) all
	scripts/demo
# Runs the two commands of README.md in systems that have only git, make and certificates. For
# 64-bit ARM on another machine, cross-builds and runs the tests in an emulator.
SUITES ?= bookworm trixie
ARCH ?=
fresh:
	$(if $(filter-out $(PROCESSOR),$(filter arm64,$(ARCH))),scripts/check-arm64,\
	    for s in $(SUITES); do scripts/fresh-machine $$s $(ARCH) || exit; done)
check-compilers check-deb:
	for s in $(SUITES); do scripts/$@ $$s || exit; done
bench: all
	BUILD=$(BUILD) scripts/bench
	BUILD=$(BUILD) scripts/bench-roofline
	BUILD=$(BUILD) scripts/bench-rules
	BUILD=$(BUILD) PYTHON=$(PYTHON) scripts/bench-generator
# Sends every available model through optimize-model (about 15 minutes); make test takes a sample.
# Keeps the result in the tree.
roundtrip: programs-of-tests
	BUILD=$(BUILD) $(PYTHON) -W ignore test/onnx/roundtrip.py --table test/onnx/ROUNDTRIP.md
# Compares run-model with ONNX Runtime and ONNX's reference at attributes, sizes and values at the
# limits of what ONNX allows (about 5 minutes); make test takes a sample. Keeps the result in the
# tree.
edges: programs-of-tests
	BUILD=$(BUILD) $(PYTHON) -W ignore test/onnx/edges.py --write
# Compares the prover's verdicts on thousands of mutants of true rules with the oracle. Keeps the
# result in the tree.
MUTANT_SEEDS := 1 20261123
check-mutants: programs-of-tests
	for s in $(MUTANT_SEEDS); do $(BUILD)/test/verifier_mutation 3000 $$s && \
	    $(BUILD)/test/verifier_guards 3000 $$s 2>&1 | grep mutants || exit; done > $(BUILD)/mutants.txt
	cp $(BUILD)/mutants.txt test/cases/verifier/mutants.txt
# Checks in machine arithmetic what the classes of rules promise: those of the library, of all
# generated rules and of the corpora, which are proved first. Keeps the result in the tree.
CORPORA := $(wildcard test/cases/verifier/*.rules)
check-classes: programs-of-tests
	@mkdir -p $(BUILD)/classes
	for f in $(CORPORA); do $(BUILD)/verify-rules -q $$f -o $(BUILD)/classes/$${f##*/} > /dev/null; \
	    test $$? -le 1 || exit; done
	$(BUILD)/test/tools/check_classes rules/library/*.rules rules/generated/*.rules \
	    rules/generated/search/*.rules $(CORPORA:test/cases/verifier/%=$(BUILD)/classes/%) \
	    > $(BUILD)/classes.txt || { cat $(BUILD)/classes.txt; exit 1; }
	{ date +%F; cat $(BUILD)/classes.txt; } > test/cases/verifier/classes.txt
# Has cvc5 decide again what Z3 answered for each proof of TASO's rules, of the library and of the
# search set. Keeps the result in the tree.
OBLIGATIONS := $(BUILD)/obligations
check-obligations: all
	rm -rf $(OBLIGATIONS)
	mkdir -p $(OBLIGATIONS)
	$(BUILD)/verify-rules -q --budget $(BUDGET) --obligations $(OBLIGATIONS)/library \
	    rules/library/*.rules
	$(BUILD)/verify-rules -q --obligations $(OBLIGATIONS)/search rules/generated/search/*.rules
	$(BUILD)/verify-rules -q --obligations $(OBLIGATIONS)/taso test/cases/taso/graph_subst.pb; \
	    test $$? -le 1
	scripts/check-obligations $(OBLIGATIONS)/taso $(OBLIGATIONS)/library $(OBLIGATIONS)/search \
	    > $(OBLIGATIONS)/found.txt || { cat $(OBLIGATIONS)/found.txt; exit 1; }
	{ date +%F; $(BUILD)/verify-rules --version | grep Z3; cvc5 --version | head -n 1; \
	    cat $(OBLIGATIONS)/found.txt; } > test/cases/verifier/obligations.txt
# Generates candidates over each operator set, proves them, and keeps the proved rules or a basis of
# them (rules/generated/README.md). Steps whose results are in build/rules are not repeated. With
# WITHOUT=--without-size-4 this takes minutes.
rules: all
	BUILD=$(BUILD) scripts/rules $(WITHOUT)
# Answers questions of the models of scripts/models.tsv, proves the answers, times them on the
# target, and keeps those that pay in rules/discovered (scripts/discover.py). Steps whose results
# are in build/discover are not repeated.
discover: all
	BUILD=$(BUILD) $(PYTHON) scripts/discover.py $(DISCOVER)
# Writes two gains of each model of scripts/models.tsv into test/bench/DISCOVERED.md: by the
# library, and by the answers to its own questions alone (scripts/rediscover.py). This takes 25
# minutes on an idle machine.
rediscover: all
	BUILD=$(BUILD) $(PYTHON) scripts/rediscover.py $(DISCOVER)
# Writes rules/discovered/ATLAS.md: what a node of one operator could be replaced by on TARGET
# (scripts/atlas.py). Steps whose results are in build/atlas are not repeated.
atlas: all
	BUILD=$(BUILD) $(PYTHON) scripts/atlas.py --target $(or $(TARGET),onnxruntime) $(ATLAS)
# Proves the library again and writes the verdicts into it. This is needed after a rule was written
# or the definition of an operator was changed. The rules of winograd.rules take minutes each, and a
# hundred times the default budget.
BUDGET ?= 6000000000
prove: all
	for f in rules/library/*.rules; do \
	    $(BUILD)/verify-rules -q --budget $(BUDGET) $$f -o $$f || exit; done

INSTALLED := $(DESTDIR)$(PREFIX)
FILL := sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@SONAME@|$(SONAME)|'
SHARE := $(INSTALLED)/share
HELPERS := scripts/compare_onnx.py scripts/measure_onnxruntime.py scripts/profile_onnxruntime.py \
    scripts/onnx_tools.py scripts/packages.py scripts/project.py
GENERATED := $(wildcard rules/generated/search/*.rules)
DISCOVERED := $(wildcard rules/discovered/*.rules)
install: all
	install -d $(addprefix $(INSTALLED)/,bin lib/pkgconfig lib/cmake/isomer include) \
	    $(addprefix $(SHARE)/,man/man1 bash-completion/completions zsh/site-functions \
	    isomer/scripts isomer/rules/generated isomer/rules/discovered)
	install -m 755 $(PROGRAMS) $(INSTALLED)/bin
	install -m 644 $(MANUALS) $(SHARE)/man/man1
	install -m 644 $(NAMES:%=$(BUILD)/completions/%) $(SHARE)/bash-completion/completions
	install -m 644 $(NAMES:%=$(BUILD)/completions/_%) $(SHARE)/zsh/site-functions
	install -m 755 scripts/with-python scripts/compare-onnx scripts/measure-onnxruntime \
	    scripts/profile-onnxruntime $(SHARE)/isomer/scripts
	install -m 644 $(HELPERS) $(SHARE)/isomer/scripts
	install -m 755 $(BUILD)/libisomer.so $(INSTALLED)/lib/libisomer.so.$(VERSION)
	ln -sf libisomer.so.$(VERSION) $(INSTALLED)/lib/$(SONAME)
	ln -sf $(SONAME) $(INSTALLED)/lib/libisomer.so
	$(if $(CUDA_PLUGIN),install -d $(INSTALLED)/lib/isomer)
	$(if $(CUDA_PLUGIN),install -m 755 $(CUDA_PLUGIN) $(INSTALLED)/lib/isomer)
	install -m 644 search/isomer.h ops/backend/isomer_backend.h ops/backend/isomer_op_steps.h \
	    $(INSTALLED)/include
	install -m 644 $(wildcard rules/library/*.rules) $(SHARE)/isomer/rules
	$(if $(GENERATED),install -m 644 $(GENERATED) $(SHARE)/isomer/rules/generated)
	$(if $(DISCOVERED),install -m 644 $(DISCOVERED) $(SHARE)/isomer/rules/discovered)
	$(FILL) scripts/packaging/isomer.pc.in > $(INSTALLED)/lib/pkgconfig/isomer.pc
	for f in isomer-config isomer-config-version; do \
	    $(FILL) scripts/packaging/$$f.cmake.in > $(INSTALLED)/lib/cmake/isomer/$$f.cmake || exit; \
	done

# Debian packages of the last commit, in build/deb.
DEB := $(BUILD)/deb/isomer-$(VERSION)
deb:
	rm -rf $(BUILD)/deb
	mkdir -p $(DEB)
	git archive HEAD | tar -x -C $(DEB)
	cp -r $(DEB)/scripts/packaging/debian $(DEB)/
	cd $(DEB) && dpkg-buildpackage -us -uc -b

clean:
	rm -rf $(BUILD)

# The dependencies of each object, as the compiler wrote them, except those of builds in subfolders.
BELOW := $(patsubst %,-o -path '$(BUILD)/%',ndebug asan ubsan coverage fuzz asan-ubsan deb)
-include $(shell find $(BUILD) \( -false $(BELOW) \) -prune -o -name '*.d' -print 2>/dev/null)
