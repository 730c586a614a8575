import CryoIO
import CryoPipeline
import Glibc
import Testing

@testable import CryoTokens

@Suite struct ExecTokenTests {
    private let directory = TemporaryDirectory()

    private func source(
        _ command: [String], _ environment: [(name: String, value: String)] = [], timeoutMilliseconds: UInt32 = 20_000
    ) throws -> LoadedTokenSource {
        var exec = ExecSettings(command: command)
        exec.environment = environment
        var settings = TokenSettings(name: "app", source: .exec(exec))
        settings.refresh.timeoutMilliseconds = timeoutMilliseconds
        return try load(settings)
    }

    private func shell(_ script: String, timeoutMilliseconds: UInt32 = 20_000) throws -> LoadedTokenSource {
        try source(["sh", "-c", script], timeoutMilliseconds: timeoutMilliseconds)
    }

    /// In a year, to the second.
    private static let until = Int64(time(nil)) + 31_536_000

    private static func date(_ suffix: String) -> String {
        var seconds = time_t(until)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) + suffix
    }

    @Test(
        "a bare token, our JSON, an ExecCredential and AWS's credentials are read, with their end",
        arguments: [
            ("a1\n", "a1", false), ("  a1 \r\n\n", "a1", false), (#"{"token":"a1","expires_at":\#(until)}"#, "a1", true),
            (#"{"token":"a1","expires_at":"\#(until)"}"#, "a1", true), (#"{"token":"a1","expires_at":null}"#, "a1", false),
            (#"{"token":"a1","expires_at":"\#(date("Z"))"}"#, "a1", true),
            (#"{"access_token":"a1","expires_at":\#(until)000}"#, "a1", true),
            (
                #"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":"#
                    + #"{"token":"a1","expirationTimestamp":"\#(date("Z"))"}}"#, "a1", true
            ),
            (
                #"{"Version":1,"AccessKeyId":"k","SecretAccessKey":"s","SessionToken":"a1","Expiration":"\#(date("+00:00"))"}"#,
                "a1", true
            ),
            (#"{"token":"a1","expires_at":"soon"}"#, "a1", false), (#"{"token":"a1","expires_in":-5}"#, "a1", false),
        ] as [(String, String, Bool)])
    func outputs(output: String, token: String, hasEnd: Bool) async throws {
        let source = try self.source(["cat", directory.write("out", output)])
        #expect(source.initial == nil && source.refresher.canRefresh && source.refresher.canIssue)
        guard case .renewed(let new) = await refresh(source.refresher) else {
            Issue.record("not renewed")
            return
        }
        #expect(new.token.text == token)
        #expect(new.expiresAt == (hasEnd ? Self.until : nil))
        #expect(source.counters.count(of: .lifetimeIgnored) == (output.holds("soon") || output.holds("-5") ? 1 : 0))
    }

    @Test(
        "what is no token has a name",
        arguments: [
            ("", "answer_empty"), (" \n\n", "answer_empty"), ("two\nlines\n", "token_unusable"), ("{half", "answer_not_json"),
            ("{}", "token_absent"), (#"{"token":7}"#, "token_wrong_type"), (#"{"token":""}"#, "token_wrong_type"),
            (#"{"token":"a\nb"}"#, "token_unusable"),
            (#"{"kind":"ExecCredential","status":{"clientCertificateData":"x"}}"#, "token_absent"),
            (#"{"kind":"ExecCredential","token":"a1"}"#, "token_absent"), (#"{"token":"a1","expires_at":1000000000}"#, "token_expired"),
            ("eyJhbGciOiJub25lIn0.eyJleHAiOjEwMDAwMDAwMDB9.x", "token_expired"),
        ])
    func nonsense(output: String, outcome: String) async throws {
        let source = try self.source(["cat", directory.write("out", output)])
        let told = text(of: await refresh(source.refresher))
        #expect(told.hasPrefix("failed: ") && told.hasSuffix("(\(outcome))"), "\(told)")
        #expect(SourceOutcome(rawValue: outcome).map { source.counters.count(of: $0) } == 1)
    }

    @Test("the same token again is nothing newer") func same() async throws {
        #expect(text(of: await refresh(try shell("echo a1").refresher, credential("a1"))) == "unchanged")
    }

    @Test("arguments are passed as they are: no shell reads them") func arguments() async throws {
        let told = text(of: await refresh(try source(["printf", "%s", "$HOME;`id` * 'x'"]).refresher))
        #expect(told == "renewed $HOME;`id` * 'x' -")
    }

    @Test("a command sees PATH, HOME and what it is given, and no descriptor of ours") func environment() async throws {
        setenv("CRYONET_TEST_OWN", "own", 1)
        let held = open("/dev/null", O_RDONLY)
        defer { close(held) }
        let script = #"""
            names=$(env | grep -v '^_=\|^PWD=\|^SHLVL=\|^OLDPWD=' | cut -d= -f1 | sort | tr '\n' ' ')
            printf "%s|" "$names" "$KEY" "$(ls /proc/$$/fd | tr '\n' ' ')"
            """#
        let key = directory.write("key", "k 1\n")
        let told = text(of: await refresh(try source(["bash", "-c", script], [(name: "KEY", value: "file:\(key)")]).refresher))
        let home = getenv("HOME") == nil ? "" : "HOME "
        let parts = told.split(separator: "|", omittingEmptySubsequences: false)
        #expect(parts[0] == "renewed \(home)KEY PATH ")
        #expect(parts[1] == "k 1")
        #expect(held < 5 || !parts[2].split(separator: " ").contains("\(held)"), "\(parts[2])")
    }

    @Test("a command that hangs is killed with all it started, after its time and no more") func hangs() async throws {
        let mark = directory.file("pids")
        let source = try shell("echo $$ > \(mark); sleep 600 & echo $! >> \(mark); wait", timeoutMilliseconds: 2000)
        let told = text(of: await refresh(source.refresher))
        #expect(told == "failed: the command took longer than 2000 ms and was killed (command_timed_out)")
        let pids = (directory.read("pids") ?? "").split(separator: "\n").compactMap { pid_t($0) }
        #expect(pids.count == 2)
        for pid in pids { #expect(await isGone(pid), "\(pid) lives") }
    }

    /// Gone, or a zombie that somebody else has to bury.
    private func isGone(_ pid: pid_t) async -> Bool {
        let deadline = Clock.monotonicNanoseconds() + 10_000_000_000
        while Clock.monotonicNanoseconds() < deadline {
            guard let stream = fopen("/proc/\(pid)/stat", "r") else { return true }
            var bytes = [UInt8](repeating: 0, count: 512)
            let count = fread(&bytes, 1, bytes.count, stream)
            fclose(stream)
            if String(decoding: bytes[..<count], as: UTF8.self).holds(") Z ") { return true }
            await Task.yield()
        }
        return false
    }

    @Test("a command that closes its output and goes on is killed too") func closed() async throws {
        let told = text(of: await refresh(try shell("exec >&- 2>&-; exec sleep 600", timeoutMilliseconds: 300).refresher))
        #expect(told.hasSuffix("(command_timed_out)"))
    }

    @Test("somebody who keeps the pipe open after the command's end is not waited for") func heldPipe() async throws {
        let source = try shell("sleep 6000 & echo $! > \(directory.file("pid")); echo a1", timeoutMilliseconds: 600_000)
        let start = Clock.monotonicNanoseconds()
        #expect(text(of: await refresh(source.refresher)) == "renewed a1 -")
        #expect(Clock.monotonicNanoseconds() - start < 400_000_000_000)
        if let pid = pid_t(directory.read("pid")?.dropLast() ?? "") { kill(pid, SIGKILL) }
    }

    @Test("output up to the bound is taken, a byte more is refused and the command killed", arguments: [(65_536, true), (65_537, false)])
    func bound(count: Int, isTaken: Bool) async throws {
        let told = text(of: await refresh(try shell("head -c \(count) /dev/zero | tr '\\0' a").refresher))
        #expect(isTaken ? told.hasPrefix("renewed aaa") : told.hasSuffix("(command_output_too_large)"), "\(told.prefix(120))")
    }

    @Test("megabytes without end are refused at once") func endless() async throws {
        #expect(text(of: await refresh(try source(["yes"]).refresher)).hasSuffix("(command_output_too_large)"))
    }

    @Test("megabytes on standard error harm nobody") func noisy() async throws {
        #expect(text(of: await refresh(try shell("head -c 3000000 /dev/zero >&2; echo a1").refresher)) == "renewed a1 -")
    }

    @Test(
        "a failure tells how the command ended, and of its errors one short line without secrets",
        arguments: [
            ("exit 3", "the command ended with 3 (command_failed)"),
            ("echo first >&2; echo 'no such account' >&2; exit 1", "the command ended with 1: no such account (command_failed)"),
            ("echo a1; exit 1", "the command ended with 1 (command_failed)"),
            ("kill -9 $$", "the command was ended by signal 9 (command_killed)"),
            ("echo denied for $KEY at x >&2; exit 2", "the command ended with 2: denied for *** at x (command_failed)"),
            ("echo current-token-1 is old >&2; exit 2", "the command ended with 2: *** is old (command_failed)"),
            ("echo 'password: hunter2 wrong' >&2; exit 2", "the command ended with 2: password: *** wrong (command_failed)"),
            ("echo 'secret=hunter2 wrong' >&2; exit 2", "the command ended with 2: *** wrong (command_failed)"),
            ("echo 'got eyJhbGciOiJIUzI1NiJ9.e30.x' >&2; exit 2", "the command ended with 2: got *** (command_failed)"),
            ("printf 'a\\001b\\033[31mc\\n\\n \\n' >&2; exit 2", "the command ended with 2: a b [31mc (command_failed)"),
        ])
    func failures(script: String, expected: String) async throws {
        let source = try self.source(["sh", "-c", script], [(name: "KEY", value: "file:\(directory.write("key", "k-secret"))")])
        #expect(text(of: await refresh(source.refresher, credential("current-token-1"))) == "failed: \(expected)")
    }

    @Test("a long line of errors is cut") func longErrors() {
        let excerpt = CommandErrors.excerpt(of: Array(String(repeating: "word ", count: 1000).utf8), secrets: [])
        #expect((excerpt?.utf8.count ?? 0) <= CommandErrors.excerptBytesMax + 3)
    }

    @Test(
        "a command that is not there, or no program, is named",
        arguments: [["/nonexistent/x"], ["cryonet-no-such-command"], ["/etc/passwd"]])
    func notStarted(command: [String]) async throws {
        let source = try self.source(command)
        #expect(text(of: await refresh(source.refresher)).hasSuffix("(command_not_started)"))
        #expect(source.counters.count(of: .commandNotStarted) == 1)
    }

    @Test("nothing is left behind: no pipe stays open") func nothingLeft() async throws {
        let source = try shell("echo a1")
        let before = pipes()
        for _ in 0..<100 { _ = await refresh(source.refresher) }
        #expect(pipes() < before + 100, "other commands of this suite hold some")
    }

    private func pipes() -> Int {
        var target = [CChar](repeating: 0, count: 16)
        return (0..<4096).count { descriptor in
            let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            return count >= 5 && target.prefix(5).elementsEqual("pipe:".utf8.map { CChar($0) })
        }
    }
}
