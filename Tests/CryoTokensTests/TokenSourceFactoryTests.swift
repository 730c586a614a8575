import CryoPipeline
import CryoSync
import Glibc
import Testing

@testable import CryoTokens

@Suite struct TokenSourceFactoryTests {
    private let directory = TemporaryDirectory()

    @Test("a literal and a variable never refresh") func fixed() async throws {
        setenv("CRYONET_TEST_FIXED", "e1", 1)
        let fixed = try load(TokenSettings(name: "a", source: .fixed(token: .literal(Secret("f1")))))
        let environment = try load(TokenSettings(name: "b", source: .environment(name: "CRYONET_TEST_FIXED")))
        #expect(fixed.initial?.token.text == "f1" && environment.initial?.token.text == "e1")
        #expect(!fixed.refresher.canRefresh && !environment.refresher.canRefresh)
        #expect(text(of: await refresh(fixed.refresher)) == "unchanged")
        #expect(text(of: await refresh(environment.refresher)) == "unchanged")
    }

    @Test("a missing token is no reason not to start; a file's is reported, a variable's was by the check") func missing() async throws {
        let reports = Reports()
        let path = directory.file("token")
        let file = try load(TokenSettings(name: "a", source: .file(path: path)), reports)
        #expect(file.initial == nil)
        #expect(reports.all == [.sourceUnavailable(detail: "there is no file \(path)")])
        #expect(text(of: await refresh(file.refresher)) == "failed: there is no file \(path) (file_missing)")
        let quiet = Reports()
        #expect(try load(TokenSettings(name: "b", source: .environment(name: "CRYONET_TEST_NONE")), quiet).initial == nil)
        #expect(quiet.all.isEmpty)
    }

    @Test("a file is read again when asked") func file() async throws {
        let path = directory.write("token", "t1\n")
        let source = try load(TokenSettings(name: "a", source: .file(path: path)))
        #expect(source.initial?.token.text == "t1")
        #expect(text(of: await refresh(source.refresher, credential("t1"))) == "unchanged")
        directory.write("token", "t2\n")
        #expect(text(of: await refresh(source.refresher, credential("t1"))) == "renewed t2 -")
        directory.write("token", "\n")
        #expect(text(of: await refresh(source.refresher, credential("t2"))) == "failed: the file \(path) is empty (file_empty)")
    }

    @Test("the watcher hands over a rewritten, a renamed and a relinked file, and nothing that is no token") func watcher() {
        let seen = Mutex<[String]>([])
        let path = directory.write("token", "t1")
        let watcher = FileWatcher(path: path) { new in seen.withLock { $0.append(new.token.text) } }
        watcher.check()
        watcher.check()
        directory.write("token", "t2 rewr")
        watcher.check()
        directory.write("token", "t2 rewritten")
        watcher.check()
        #expect(seen.withLock { $0 } == ["t1"], "a file that is still being written is left alone")
        watcher.check()
        rename(directory.write("token.new", "t3 renamed"), path)
        watcher.check()
        directory.write("token", "")
        watcher.check()
        watcher.check()
        unlink(path)
        watcher.check()
        symlink(directory.write("one", "t4 linked"), path)
        watcher.check()
        watcher.check()
        #expect(seen.withLock { $0 } == ["t1", "t2 rewritten", "t3 renamed", "t4 linked"])
    }

    @Test("a started watcher looks by itself, and a stopped one delivers no more") func watcherStarts() async {
        let path = directory.write("token", "t1")
        await withCheckedContinuation { continuation in
            let waiting = Mutex<CheckedContinuation<Void, Never>?>(continuation)
            let watcher = FileWatcher(path: path) { _ in waiting.withLock { $0.take() }?.resume() }
            Self.keep(watcher)
            watcher.start()
            watcher.start()
        }
        Self.kept.withLock { $0.removeLast().stop() }
    }

    @Test("a configured JWT that has ended is not used, one that has not ends when it says so") func initialJWT() throws {
        var settings = TokenSettings(name: "a", source: .oauth2(OAuth2Settings(tokenEndpoint: "http://127.0.0.1:1", clientID: "me")))
        settings.initialRefreshToken = .literal(Secret("r0"))
        // {"exp":1000000000} and {"exp":1893456000}
        settings.initialToken = .literal(Secret("e30.eyJleHAiOjEwMDAwMDAwMDB9.x"))
        let ended = try load(settings)
        #expect(ended.initial == nil && ended.refresher.canIssue)
        settings.initialToken = .literal(Secret("e30.eyJleHAiOjE4OTM0NTYwMDB9.x"))
        let lasting = try load(settings)
        #expect(lasting.initial?.expiresAt == 1_893_456_000 && lasting.initial?.refreshToken?.text == "r0")
    }

    @Test(
        "a file that can't be used has a name",
        arguments: [
            ("missing", "file_missing"), ("empty", "file_empty"), ("directory", "file_not_regular"), ("pipe", "file_not_regular"),
            ("large", "file_too_large"), ("lines", "token_unusable"), ("binary", "token_unusable"), ("loop", "file_unreadable"),
            ("expired", "token_expired"),
        ])
    func files(kind: String, outcome: String) async throws {
        var path = directory.file("token")
        switch kind {
        case "empty": directory.write("token", "\r\n\n")
        case "directory": path = directory.path
        case "pipe": mkfifo(path, 0o600)
        case "large": directory.write("token", String(repeating: "a", count: SecretResolver.fileBytesMax + 1))
        case "lines": directory.write("token", "a\nb\n")
        case "binary": directory.write("token", "a\u{1}b")
        case "loop": symlink(path, path)
        case "expired": directory.write("token", "e30.eyJleHAiOjEwMDAwMDAwMDB9.x\n")
        default: break
        }
        let reports = Reports()
        let source = try load(TokenSettings(name: "a", source: .file(path: path)), reports)
        #expect(source.initial == nil && reports.all.count == 1)
        #expect(text(of: await refresh(source.refresher)).hasSuffix("(\(outcome))"))
        #expect(SourceOutcome(rawValue: outcome).map { source.counters.count(of: $0) } == 1)
    }

    private static let kept = Mutex<[FileWatcher]>([])
    private static func keep(_ watcher: FileWatcher) { kept.withLock { $0.append(watcher) } }

    private func stored() -> TokenSettings {
        var settings = TokenSettings(name: "a", source: .oauth2(OAuth2Settings(tokenEndpoint: "http://127.0.0.1:1", clientID: "me")))
        settings.initialToken = .literal(Secret("a0"))
        settings.storeFile = directory.file("app.json")
        return settings
    }

    @Test("a corrupt store is reported and kept, and initial is used") func corruptStore() throws {
        directory.write("app.json", "{half")
        let reports = Reports()
        #expect(try load(stored(), reports).initial?.token.text == "a0")
        let path = directory.file("app.json")
        #expect(reports.all == [.storeCorrupt(path: path, keptAs: path + ".corrupt", cause: "truncated or not JSON")])
    }

    @Test("a store that others may read is used and reported") func wideStore() throws {
        directory.write("app.json", #"{"version":1,"token":"a9","refresh_token":"r9","expires_at":5}"#, mode: 0o644)
        let reports = Reports()
        let source = try load(stored(), reports)
        #expect(source.initial?.token.text == "a9" && source.initial?.expiresAt == 5)
        #expect(reports.all == [.storePermissionsWide(path: directory.file("app.json"), mode: 0o644)])
    }

    @Test("a store that can neither be read nor moved stops the start") func unreadableStore() {
        var settings = stored()
        settings.storeFile = directory.path
        guard case .failure(.storeUnreadable) = TokenSourceFactory.make(settings, report: { _ in }) else {
            Issue.record("started")
            return
        }
    }
}
