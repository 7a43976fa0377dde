/* sal.h - annotations of functions and parameters, for a checker that is not here: they expand to nothing. Windows.h
 * includes it. The annotations before these (__in, __out_ecount) are in specstrings.h. */
#ifndef AUTOLOGGER_SAL_H
#define AUTOLOGGER_SAL_H
#ifndef _In_
#define _In_
#define _In_opt_
#define _In_z_
#define _In_opt_z_
#define _In_range_(low, high)
#define _In_reads_(n)
#define _In_reads_opt_(n)
#define _In_reads_z_(n)
#define _In_reads_opt_z_(n)
#define _In_reads_bytes_(n)
#define _In_reads_bytes_opt_(n)
#define _In_reads_or_z_(n)
#define _In_function_class_(name)
#define _In_count_(n)
#define _In_opt_count_(n)
#define _In_bytecount_(n)
#define _In_opt_bytecount_(n)
#define _Inout_
#define _Inout_opt_
#define _Inout_z_
#define _Inout_updates_(n)
#define _Inout_updates_opt_(n)
#define _Inout_updates_bytes_(n)
#define _Inout_updates_bytes_opt_(n)
#define _Inout_updates_to_(n, used)
#define _Inout_updates_bytes_to_(n, used)
#define _Out_
#define _Out_opt_
#define _Out_writes_(n)
#define _Out_writes_opt_(n)
#define _Out_writes_z_(n)
#define _Out_writes_opt_z_(n)
#define _Out_writes_to_(n, used)
#define _Out_writes_to_opt_(n, used)
#define _Out_writes_all_(n)
#define _Out_writes_bytes_(n)
#define _Out_writes_bytes_opt_(n)
#define _Out_writes_bytes_to_(n, used)
#define _Out_writes_bytes_to_opt_(n, used)
#define _Out_range_(low, high)
#define _Outptr_
#define _Outptr_opt_
#define _Outptr_result_maybenull_
#define _Outptr_result_z_
#define _Outptr_result_buffer_(n)
#define _Outptr_result_bytebuffer_(n)
#define _COM_Outptr_
#define _Pre_satisfies_(x)
#define _Post_satisfies_(x)
#define _Pre_null_
#define _Pre_notnull_
#define _Post_invalid_
#define _Post_ptr_invalid_
#define _Post_equal_to_(x)
#define _Success_(x)
#define _When_(condition, what)
#define _At_(target, what)
#define _Always_(what)
#define _On_failure_(what)
#define _Ret_maybenull_
#define _Ret_notnull_
#define _Ret_z_
#define _Ret_range_(low, high)
#define _Result_nullonfailure_
#define _Check_return_
#define _Must_inspect_result_
#define _Use_decl_annotations_
#define _Printf_format_string_
#define _Scanf_format_string_
#define _Null_terminated_
#define _NullNull_terminated_
#define _Notnull_
#define _Maybenull_
#define _Reserved_
#define _Const_
#define _Field_range_(low, high)
#define _Field_size_(n)
#define _Field_size_opt_(n)
#define _Field_size_bytes_(n)
#define _Field_size_bytes_opt_(n)
#define _Field_z_
#define _Struct_size_bytes_(n)
#define _Frees_ptr_
#define _Frees_ptr_opt_
#define _Interlocked_operand_
#define _Analysis_assume_(x)
#define _Analysis_noreturn_
#define _Acquires_lock_(lock)
#define _Releases_lock_(lock)
#define _Requires_lock_held_(lock)
#define _Guarded_by_(lock)
#define _IRQL_requires_max_(level)
#define _IRQL_requires_(level)
#define _IRQL_requires_same_
#define _Function_class_(name)
#endif
#ifndef IN
#define IN
#define OUT
#define OPTIONAL
#endif
#endif
