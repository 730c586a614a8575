// A hook that is a program.
// Domain: cold

import CryoPipeline
import Foundation
import Glibc
import Testing

@testable import CryoHooks

private let event = HookEvent(kind: .sessionExpired, body: Array(#"{"event":"session_expired"}"#.utf8))

@Suite("A hook's command")
struct HookCommandTests {
    init() { signal(SIGPIPE, SIG_IGN) }

    private func run(_ script: String, _ arguments: [String] = [], timeout: UInt32 = 20_000, body: [UInt8]? = nil) -> HookFailure? {
        HookCommand(["sh", "-c", script, "hook"] + arguments, timeoutMilliseconds: timeout)
            .run(body.map { HookEvent(kind: .failure, body: $0) } ?? event)
    }

    private func withFile(_ body: (String) throws -> Void) rethrows {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("hook-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    @Test("it gets the event on its standard input, its arguments as they are, and its name in the environment")
    func input() throws {
        try withFile { path in
            #expect(run(#"{ cat; printf ' %s %s %s' "$CRYONET_EVENT" "$2" "$#"; } > "$1""#, [path, "a b; $(c)"]) == nil)
            let written = try String(contentsOfFile: path, encoding: .utf8)
            #expect(written == #"{"event":"session_expired"} session_expired a b; $(c) 2"#)
        }
    }

    @Test("it sees nothing of our environment but what programs need, no descriptor of ours, and no ignored signal")
    func surroundings() throws {
        setenv("CRYONET_TEST_SECRET", "hidden", 1)
        defer { unsetenv("CRYONET_TEST_SECRET") }
        let descriptor = open("/dev/null", O_RDONLY)
        defer { close(descriptor) }
        try withFile { path in
            #expect(run(#"{ env; ls /proc/$$/fd; grep SigIgn /proc/$$/status; } > "$1""#, [path]) == nil)
            let written = try String(contentsOfFile: path, encoding: .utf8)
            #expect(!written.contains("hidden"))
            #expect(!written.split(separator: "\n").contains { $0 == "\(descriptor)" && descriptor > 10 })
            // Of the signals a program knows; glibc keeps two for itself.
            let ignored = written.split(separator: "\n").first { $0.hasPrefix("SigIgn:") }?.split(separator: "\t").last
            #expect(ignored.flatMap { UInt64($0, radix: 16) }.map { $0 & 0x7FFF_FFFF } == 0)
        }
    }

    @Test("one that does not read its input is no failure, also when that is more than a pipe holds")
    func unread() {
        #expect(run("exit 0", body: [UInt8](repeating: 0x20, count: 1 << 20)) == nil)
        #expect(run("exec 0<&-; exit 0", body: [UInt8](repeating: 0x20, count: 1 << 20)) == nil)
    }

    @Test("its failure is named: exit code, signal, or that there is none")
    func failures() {
        #expect(run("exit 3") == HookFailure("the command ended with 3"))
        #expect(run("kill -9 $$") == HookFailure("the command was ended by signal 9"))
        let missing = HookCommand(["/nonexistent/program"], timeoutMilliseconds: 1_000).run(event)
        #expect(missing?.detail == "the command can't be started: No such file or directory")
    }

    @Test("one that takes too long is killed with what it started", arguments: [true, false])
    func timeout(_ reads: Bool) throws {
        try withFile { path in
            let body = reads ? event.body : [UInt8](repeating: 0x20, count: 1 << 20)
            let failure = run(#"sleep 600 & echo $! > "$1.new"; mv "$1.new" "$1"; wait"#, [path], timeout: 1_500, body: body)
            #expect(failure == HookFailure("the command took longer than 1500 ms and was killed"))
            guard let child = Int32(try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines))
            else {
                Issue.record("the command did not begin")
                return
            }
            // Killed, and at most a zombie until its new parent has noticed.
            var state = "R"
            for _ in 0..<400 where !["", "Z", "X"].contains(state) {
                let stat = (try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)) ?? ""
                state = stat.split(separator: ")").last.map { String($0.dropFirst().prefix(1)) } ?? ""
                usleep(5_000)
            }
            #expect(["", "Z", "X"].contains(state))
        }
    }
}
