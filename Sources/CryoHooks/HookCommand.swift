// A hook that is a program: the event's JSON on its standard input, killed with all it started when it takes too long.
// Domain: cold

import CEpoll
import CryoIO
import CryoPipeline
import Glibc

package struct HookCommand: Sendable {
    let arguments: [String]
    let timeoutMilliseconds: UInt32

    package init(_ arguments: [String], timeoutMilliseconds: UInt32) {
        self.arguments = arguments
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Runs it to its end. Exit status 0 is success; what it prints goes nowhere.
    package func run(_ event: HookEvent) -> HookFailure? {
        let deadline = Clock.monotonicNanoseconds() &+ UInt64(timeoutMilliseconds) * 1_000_000
        var ends: [Int32] = [-1, -1]
        guard cryo_pipe(&ends) == 0 else { return HookFailure("no pipe: \(SystemError("pipe"))") }
        var process: pid_t = 0
        let code = spawn(event, reading: ends[0], &process)
        Glibc.close(ends[0])
        guard code == 0 else {
            Glibc.close(ends[1])
            return HookFailure("the command can't be started: \(String(cString: strerror(code)))")
        }
        let isFed = feed(event.body, to: ends[1], until: deadline)
        Glibc.close(ends[1])
        guard let status = wait(for: process, until: isFed ? deadline : 0) else {
            // The whole group: what it started must not live on.
            kill(-process, SIGKILL)
            var ignored: Int32 = 0
            while waitpid(process, &ignored, 0) < 0, errno == EINTR {}
            return HookFailure("the command took longer than \(timeoutMilliseconds) ms and was killed")
        }
        let signal = status & 0x7F
        if signal != 0 { return HookFailure("the command was ended by signal \(signal)") }
        let exit = (status >> 8) & 0xFF
        return exit == 0 ? nil : HookFailure("the command ended with \(exit)")
    }

    /// A group of its own, no signal blocked or ignored, no descriptor but the three, and of the environment only what programs need.
    private func spawn(_ event: HookEvent, reading: Int32, _ process: inout pid_t) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, reading, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        _ = cryo_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        guard let program = arguments.first else { return ENOENT }
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment(event).map { strdup($0) } + [nil]
        defer { for text in words + variables { free(text) } }
        return posix_spawnp(&process, program, &actions, &attributes, &words, &variables)
    }

    private func environment(_ event: HookEvent) -> [String] {
        let kept = ["PATH", "HOME", "LANG", "TMPDIR"].compactMap { (name: String) -> String? in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        return kept + ["CRYONET_EVENT=\(event.kind.rawValue)"]
    }

    /// Writes what the program takes. One that does not read to the end is no failure; one that stalls is. False: the time is over.
    private func feed(_ body: [UInt8], to descriptor: Int32, until deadline: UInt64) -> Bool {
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
        var offset = 0
        while offset < body.count {
            let count = body.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress.map { $0 + offset }, $0.count - offset) }
            if count > 0 {
                offset += count
            } else if count < 0, errno == EAGAIN {
                let left = millisecondsLeft(until: deadline)
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                if left == 0 || poll(&entry, 1, left) == 0 { return false }
            } else if errno != EINTR {
                return true
            }
        }
        return true
    }

    /// The wait status; nil when it has not ended in time.
    private func wait(for process: pid_t, until deadline: UInt64) -> Int32? {
        var status: Int32 = 0
        var pause: Int32 = 1
        while true {
            let ended = waitpid(process, &status, WNOHANG)
            if ended == process { return status }
            if ended < 0, errno != EINTR { return nil }
            let left = millisecondsLeft(until: deadline)
            if left == 0 { return nil }
            _ = poll(nil, 0, min(pause, left))
            pause = min(pause * 2, 50)
        }
    }

    private func millisecondsLeft(until deadline: UInt64) -> Int32 {
        let now = Clock.monotonicNanoseconds()
        return now >= deadline ? 0 : Int32(clamping: (deadline - now) / 1_000_000 + 1)
    }
}
