# Compiler flags: those for all files, and those of the instruction levels.

add_compile_options(-Wall -Wextra -Wno-unknown-pragmas)
# No fused multiply-add unless a kernel asks for it, so that every compiler gives the same bits.
add_compile_options(-ffp-contract=off)
add_compile_definitions(_POSIX_C_SOURCE=200809L)
if(HEC_WERROR)
  add_compile_options(-Werror)
endif()

if(HEC_SANITIZE)
  add_compile_options(-fsanitize=${HEC_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${HEC_SANITIZE} -fno-sanitize-recover=all)
endif()

if(HEC_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "HEC_FUZZ needs clang: -DCMAKE_C_COMPILER=clang")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(HEC_X86 ON)
  set(HEC_AVX512_FLAGS -O3 -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd
                       -mprefer-vector-width=512 -ffp-contract=fast)
  if(HEC_SANITIZE)
    list(REMOVE_ITEM HEC_AVX512_FLAGS -O3)
    list(APPEND HEC_AVX512_FLAGS -O1)
    if(CMAKE_C_COMPILER_ID MATCHES "Clang")
      # With both sanitizers, clang 14 takes minutes for each file of unrolled tiles. `make check` uses gcc,
      # which takes seconds.
      list(APPEND HEC_AVX512_FLAGS -fno-sanitize=undefined)
    endif()
  endif()
endif()

# A file whose name ends in _avx512.c is compiled for that level, in any folder. On other architectures it is
# left out.
function(hec_level_flags list)
  set(kept)
  foreach(file IN LISTS ${list})
    if(file MATCHES "_avx512\\.c$")
      if(NOT HEC_X86)
        continue()
      endif()
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${HEC_AVX512_FLAGS}")
    endif()
    list(APPEND kept ${file})
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()
