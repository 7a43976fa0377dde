# How what is installed resists an attack: flags of the compiler and of the linker, each only where this compiler knows it.
# tools/dev/check_elf.py reads the result. Sanitizers see more, and want none of this.
#   -fstack-protector-strong, -fstack-clash-protection  an overrun of the stack, or a jump over its guard page, ends the program
#   _FORTIFY_SOURCE=3                                   the C library checks the sizes that the compiler knows
#   -ftrivial-auto-var-init=zero                        what is forgotten to be set is 0, not what an earlier call left there
#   -fcf-protection, -mbranch-protection                marks where an indirect jump may land (x86, 64-bit ARM)
#   relro, now                                          the tables of addresses are complete at the start, and read-only

# al_bare(TARGET): without them, for a program that counts what a macro of our headers adds to a function of its own: a stack protector's check
# stands before the macro's branch, and is not the macro's.
function(al_bare target)
  target_compile_options(${target} PRIVATE ${AL_BARE})
endfunction()
set(AL_BARE "")
set(AL_NO_ZERO_INIT "") # for a file that cannot afford it; a variable: registry-sim/base/unset.h
option(AL_HARDEN "protections of the compiler and of the linker" ON)
if(NOT AL_HARDEN OR AL_SANITIZE OR AL_FUZZ)
  return()
endif()
include(CheckCCompilerFlag)
include(CheckPIESupported)

# al_first_flag(OUT FLAGS...): the first of these words that the compiler takes; each may be several flags.
function(al_first_flag out)
  foreach(words ${ARGN})
    string(MAKE_C_IDENTIFIER "AL_TAKES${words}" name)
    check_c_compiler_flag("${words}" ${name})
    if(${name})
      separate_arguments(flags UNIX_COMMAND "${words}")
      set(${out} ${flags} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out} "" PARENT_SCOPE)
endfunction()

al_first_flag(AL_STACK_PROTECTOR -fstack-protector-strong)
al_first_flag(AL_STACK_CLASH -fstack-clash-protection)
# the second: clang before 16 wants to hear that it is known to be an experiment
al_first_flag(AL_ZERO_INIT -ftrivial-auto-var-init=zero
  "-ftrivial-auto-var-init=zero -enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang")
al_first_flag(AL_BRANCHES -fcf-protection=full -mbranch-protection=standard)
if(AL_ZERO_INIT)
  set(AL_NO_ZERO_INIT -ftrivial-auto-var-init=uninitialized)
endif()
set(AL_BARE -fno-stack-protector ${AL_NO_ZERO_INIT})
add_compile_options(${AL_STACK_PROTECTOR} ${AL_STACK_CLASH} ${AL_ZERO_INIT} ${AL_BRANCHES})
# needs an optimising compiler; Debian's own flags may have a lower level already
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
if(NOT AL_STATIC) # that is -static-pie
  check_pie_supported(LANGUAGES C CXX)
endif()
