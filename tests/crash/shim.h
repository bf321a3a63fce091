// tests/crash/shim.h: stands between the process and the file system. This program defines write, fsync, rename and their kin
// itself, so that every effect on files passes here, those of libduckdb.so too, however it came about: each is a step, and at a
// chosen step the process is killed, a write is torn, the disk is full, an fsync fails, or an answer is lost. Only files below
// one folder count, and, if asked for, what is sent to a server. Any thread; one fate a process.
#pragma once

#include <atomic>
#include <string>

namespace lakeflow::crash {

enum class fate {
    none,
    killed,       // by SIGKILL, before the step; so, step by step, after the one before it
    torn,         // half of a write is done, then SIGKILL
    full,         // no space from this step on: half of a write is done, all else that needs space fails
    sync_fails,   // this one fsync does nothing and says EIO
    answer_lost,  // done, and EIO is what the caller hears; sent, and the connection ends before its answer
};

enum class effect : char { write, create, folder, sync, name, cut, send };

struct step {
    effect what = effect::write;
    char name[63] = {};  // the end of the path
};

// Lies in memory that parent and child share, so that it outlives a SIGKILL.
struct trace {
    static constexpr int most = 4096;
    std::atomic<int> steps;
    std::atomic<int> struck;  // the step at which the fate struck first; 0: it did not
    step at[most];
};

// From now on steps below `root` are counted and written down; the fate strikes at step `at` (from 1). `sockets`: what is sent
// within a session of PostgreSQL counts too, not what opens it.
void arm(const std::string& root, trace& out, fate what, int at, bool sockets);
void disarm();

}  // namespace lakeflow::crash
