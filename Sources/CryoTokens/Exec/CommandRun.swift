// One run of a command without a shell: bounded in time and output, alone in a process group, with no descriptor of ours.
// Domain: cold (blocks until the command ends or its time is over)

import CEpoll
import CryoIO
import Glibc

struct CommandRun {
    enum End: Sendable {
        case exited(Int32)
        case signalled(Int32)
        case timedOut
        /// More than `outputBytesMax` bytes.
        case tooMuchOutput
        /// The system's word for why there is no process.
        case notStarted(SystemError)
    }

    struct Report: Sendable {
        var end: End
        var output: [UInt8] = []
        /// The last bytes of standard error.
        var errors: [UInt8] = []
    }

    /// A longer output is no token.
    static let outputBytesMax = 65_536
    /// Of standard error; what came before is forgotten.
    static let errorBytesMax = 4096

    /// Program and arguments; a name without a slash is looked for in PATH.
    var command: [String]
    var environment: [(name: String, value: String)]
    var timeoutMilliseconds: UInt32

    func run() -> Report {
        guard let output = Pipe(), let errors = Pipe() else { return Report(end: .notStarted(SystemError("pipe"))) }
        var pid: pid_t = 0
        let code = spawn(&pid, output: output, errors: errors)
        guard code == 0 else { return Report(end: .notStarted(SystemError("posix_spawn", code: code))) }
        output.closeWriteEnd()
        errors.closeWriteEnd()
        return watch(pid, output, errors)
    }

    // MARK: Starting

    private func spawn(_ pid: inout pid_t, output: Pipe, errors: Pipe) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output.writeEnd, 1)
        posix_spawn_file_actions_adddup2(&actions, errors.writeEnd, 2)
        _ = cryo_spawn_close_from(&actions, 3)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Signals that this process ignores or holds back are the command's own affair again.
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        return withCStrings(command) { arguments in
            withCStrings(environment.map { "\($0.name)=\($0.value)" }) { variables in
                guard let program = arguments[0] else { return ENOENT }
                return posix_spawnp(&pid, program, &actions, &attributes, arguments, variables)
            }
        }
    }

    private func withCStrings<R>(_ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R) -> R {
        var pointers = texts.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeMutableBufferPointer { buffer in
            // A terminator is always there, so the buffer has an address.
            var end: UnsafeMutablePointer<CChar>?
            return buffer.baseAddress.map(body) ?? body(&end)
        }
    }

    // MARK: Watching

    private func watch(_ pid: pid_t, _ output: Pipe, _ errors: Pipe) -> Report {
        let process = cryo_process_descriptor(pid)
        defer { if process >= 0 { close(process) } }
        var report = Report(end: .timedOut)
        let deadline = Clock.monotonicNanoseconds() &+ UInt64(timeoutMilliseconds) * 1_000_000
        while true {
            let now = Clock.monotonicNanoseconds()
            guard now < deadline else { return ended(.timedOut, pid, &report) }
            var watched = [output, errors].map { pollfd(fd: $0.readEnd, events: Int16(POLLIN), revents: 0) }
            watched.append(pollfd(fd: process, events: Int16(POLLIN), revents: 0))
            // Without a descriptor for the process its end is looked for now and then.
            let patience = process >= 0 ? UInt64(60_000) : 20
            let wait = min((deadline - now) / 1_000_000 + 1, patience)
            if poll(&watched, nfds_t(watched.count), Int32(wait)) < 0, errno != EINTR { return ended(.timedOut, pid, &report) }
            output.read(into: &report.output, bytesMax: Self.outputBytesMax + 1)
            errors.readLast(into: &report.errors, bytesMax: Self.errorBytesMax)
            if report.output.count > Self.outputBytesMax { return ended(.tooMuchOutput, pid, &report) }
            var status: Int32 = 0
            guard waitpid(pid, &status, WNOHANG) == pid else { continue }
            // What it wrote just before its end; whoever else holds the pipes is not waited for.
            output.read(into: &report.output, bytesMax: Self.outputBytesMax + 1)
            errors.readLast(into: &report.errors, bytesMax: Self.errorBytesMax)
            report.end = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .signalled(status & 0x7F)
            if report.output.count > Self.outputBytesMax { report.end = .tooMuchOutput }
            return report
        }
    }

    /// Ends the command and all it started. The group still has its name: its leader has not been waited for.
    private func ended(_ end: End, _ pid: pid_t, _ report: inout Report) -> Report {
        kill(-pid, SIGKILL)
        kill(pid, SIGKILL)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        report.end = end
        return report
    }
}

/// A pipe whose ends are closed with it.
private final class Pipe {
    private(set) var readEnd: Int32
    private(set) var writeEnd: Int32

    init?() {
        var ends: [Int32] = [-1, -1]
        guard cryo_pipe(&ends) == 0 else { return nil }
        (readEnd, writeEnd) = (ends[0], ends[1])
        _ = cryo_set_nonblocking(readEnd)
    }

    deinit {
        closeReadEnd()
        closeWriteEnd()
    }

    func closeWriteEnd() {
        if writeEnd >= 0 { close(writeEnd) }
        writeEnd = -1
    }

    private func closeReadEnd() {
        if readEnd >= 0 { close(readEnd) }
        readEnd = -1
    }

    /// Takes what is there, as long as there is room; at the end of the stream `poll` is to skip it.
    func read(into bytes: inout [UInt8], bytesMax: Int) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while readEnd >= 0, bytes.count < bytesMax {
            let count = Glibc.read(readEnd, &buffer, min(buffer.count, bytesMax - bytes.count))
            if count > 0 {
                bytes.append(contentsOf: buffer[..<count])
            } else if count == 0 {
                closeReadEnd()
            } else if errno != EINTR {
                return
            }
        }
    }

    /// Takes what is there, up to a turn's worth, and keeps the last bytes.
    func readLast(into bytes: inout [UInt8], bytesMax: Int) {
        var fresh: [UInt8] = []
        read(into: &fresh, bytesMax: 262_144)
        bytes.append(contentsOf: fresh)
        bytes.removeFirst(max(0, bytes.count - bytesMax))
    }
}
