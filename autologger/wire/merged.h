/* merged.h - our own events that a merge appends to its file: where the file comes from. TraceLogging events (they
 * describe themselves) of the provider MERGED_PROVIDER:
 *   Session        one for each merged file, with that file's counters (Events: without its header event):
 *                  Name, FileName: text, StartTime, EndTime: FILETIME, LogFileMode: hex32, BufferSize, Buffers: uint32,
 *                  Events: uint64, EventsLost, BuffersLost, Damage: uint32, Finished: uint8,
 *                  Of: text (MERGED_OF_*, or "" if the merging program does not know; older files have no Of)
 *   Host           the machine, if it merged what it traced in this boot:
 *                  HostName, System, Release, Architecture, Program: text, Processors: uint32, Memory: uint64 (bytes)
 *   Configuration  BootId: text, ChangeNumber: uint64,
 *                  Hash: text (SHA-1 of the declarations, hexadecimal; "": changed since)
 * A file that is merged again keeps them, and gets no second ones.
 * Not for: names and symbols (names.h). */
#ifndef AUTOLOGGER_WIRE_MERGED_H
#define AUTOLOGGER_WIRE_MERGED_H
#define MERGED_PROVIDER "Autologger-Merge"
#define MERGED_SESSION "Session"
#define MERGED_OF_BOOT "boot"
#define MERGED_OF_REHEARSAL "rehearsal"
#define MERGED_HOST "Host"
#define MERGED_CONFIGURATION "Configuration"
#endif
