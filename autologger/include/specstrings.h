/* specstrings.h - the annotations that preceded those of sal.h, which it includes. They expand to nothing. Not part of
 * Windows.h, because the C++ library uses the names __in and __out: include it after the headers of the C++ library. */
#ifndef AUTOLOGGER_SPECSTRINGS_H
#define AUTOLOGGER_SPECSTRINGS_H
#include "sal.h"
#define __in
#define __in_opt
#define __in_z
#define __in_z_opt
#define __in_bcount(n)
#define __in_bcount_opt(n)
#define __in_bcount_z(n)
#define __in_ecount(n)
#define __in_ecount_opt(n)
#define __in_ecount_z(n)
#define __in_xcount(n)
#define __inout
#define __inout_opt
#define __inout_bcount(n)
#define __inout_bcount_opt(n)
#define __inout_bcount_part(n, used)
#define __inout_ecount(n)
#define __inout_ecount_opt(n)
#define __inout_ecount_part(n, used)
#define __out
#define __out_opt
#define __out_bcount(n)
#define __out_bcount_opt(n)
#define __out_bcount_part(n, used)
#define __out_bcount_part_opt(n, used)
#define __out_ecount(n)
#define __out_ecount_opt(n)
#define __out_ecount_z(n)
#define __out_ecount_part(n, used)
#define __out_ecount_part_opt(n, used)
#define __out_xcount(n)
#define __deref_in
#define __deref_in_opt
#define __deref_out
#define __deref_out_opt
#define __deref_out_bcount(n)
#define __deref_out_ecount(n)
#define __deref_inout
#define __deref_inout_opt
#define __bcount(n)
#define __ecount(n)
#define __field_bcount(n)
#define __field_bcount_opt(n)
#define __field_ecount(n)
#define __field_ecount_opt(n)
#define __struct_bcount(n)
#define __format_string
#define __nullterminated
#define __reserved
#define __checkReturn
#define __success(x)
#define __fallthrough
#endif
