/* merged.h - the events of ours that a merge puts at the end of its file: where it comes from. TraceLogging events
 * (they describe themselves) of the provider MERGED_PROVIDER:
 *   Session        Name, FileName: text, StartTime, EndTime: FILETIME, LogFileMode: hex32, BufferSize, Buffers: uint32,
 *                  Events: uint64, EventsLost, BuffersLost, Damage: uint32, Finished: uint8,   one for each file that
 *                  was merged, counters as that file has
 *                  Of: text                                                    them (Events: without its header event);
 *                                                                              Of: MERGED_OF_*, or "" where the one who
 *                                                                              merged does not know. Older files have
 *                                                                              no Of
 *   Host           HostName, System, Release, Architecture, Program: text,     the machine, where it merged what it
 *   traced in this boot
 *                  Processors: uint32, Memory: uint64 (bytes)
 *   Configuration  BootId: text, ChangeNumber: uint64, Hash: text              SHA-1 of what was declared (hexadecimal;
 *   "": it was changed since)
 * A file that is merged again keeps them, and gets no second ones. Not for: names and symbols (names.h). */
#ifndef AUTOLOGGER_WIRE_MERGED_H
#define AUTOLOGGER_WIRE_MERGED_H
#define MERGED_PROVIDER "Autologger-Merge"
#define MERGED_SESSION "Session"
#define MERGED_OF_BOOT "boot"
#define MERGED_OF_REHEARSAL "rehearsal"
#define MERGED_HOST "Host"
#define MERGED_CONFIGURATION "Configuration"
#endif
