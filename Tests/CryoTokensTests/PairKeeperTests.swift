import CryoPipeline
import Glibc
import Testing

@testable import CryoTokens

@Suite struct PairKeeperTests {
    private let directory = TemporaryDirectory()
    private let reports = Reports()
    private let monitor = TokenStoreMonitor(.file)

    private var path: String { directory.file("app.json") }

    private func keeper(_ refreshToken: String? = nil) -> PairKeeper {
        PairKeeper(
            store: TokenStoreFile(path: path), refreshToken: refreshToken.map { Secret($0) }, monitor: monitor,
            report: { [reports] in reports.add($0) })
    }

    private func pair(_ number: Int) -> NewCredential { NewCredential(token: Secret("a\(number)"), refreshToken: Secret("r\(number)")) }

    @Test("what can't be written is said once, counted each time, and said again when it can") func notWritten() {
        let keeper = keeper()
        mkdir(path, 0o700)
        #expect(keeper.keep(pair(1), presented: nil).token.text == "a1")
        _ = keeper.keep(pair(2), presented: Secret("r1"))
        #expect(reports.all == [.storeNotWritten(path: path, cause: "it is not a regular file")])
        #expect(monitor.count(of: .writeFailed) == 2 && monitor.status.trouble != nil && !keeper.isWritten)
        rmdir(path)
        _ = keeper.keep(pair(3), presented: Secret("r2"))
        #expect(reports.all.last == .storeWritten(path: path) && reports.all.count == 2)
        #expect(monitor.count(of: .written) == 1 && monitor.status.trouble == nil && keeper.isWritten)
        #expect(directory.read("app.json")?.holds("a3") == true)
    }

    @Test("a file that a newer program wrote meanwhile is kept aside and counted") func replaced() {
        let keeper = keeper()
        let newer = #"{"version":2,"token":"b"}"#
        directory.write("app.json", newer)
        _ = keeper.keep(pair(1), presented: nil)
        #expect(directory.read("app.json.corrupt") == newer)
        #expect(monitor.count(of: .corruptKeptAside) == 1)
        #expect(directory.read("app.json")?.holds("a1") == true)
    }

    @Test("a refused refresh token is not presented again, and its file is kept aside and counted") func refused() {
        let keeper = keeper("r0")
        let kept = keeper.keep(pair(1), presented: Secret("r0"))
        keeper.forget(kept.refreshToken)
        #expect(keeper.refreshToken(for: credential("a1", refreshToken: "r1")) == nil)
        #expect(directory.names == ["app.json.rejected"])
        #expect(monitor.count(of: .refusedKeptAside) == 1)
    }

    @Test("a pair of another gateway uses up what was held here and is what a refresh begins with") func adopted() {
        let keeper = keeper("r0")
        let current = credential("a0", refreshToken: "r0")
        keeper.takeOver(pair(1))
        #expect(keeper.refreshToken(for: current)?.text == "r1")
        #expect(keeper.base(current)?.token.text == "a1" && keeper.base(current)?.refreshToken?.text == "r1")
        #expect(keeper.holds(Secret("r1")) && !keeper.holds(Secret("r0")) && !keeper.holds(nil))
        #expect(keeper.base(nil) == nil)
    }

    @Test("a login from outside replaces what was kept, and what an earlier one's refresh brings is not kept") func login() {
        let keeper = keeper("r0")
        keeper.adopt(.login(pair(5)))
        #expect(directory.read("app.json")?.holds("a5") == true)
        _ = keeper.keep(pair(1), presented: Secret("r0"))
        #expect(directory.read("app.json")?.holds("a5") == true && keeper.refreshToken(for: nil)?.text == "r5")
        _ = keeper.keep(pair(6), presented: Secret("r5"))
        #expect(directory.read("app.json")?.holds("a6") == true)
        keeper.adopt(.expired)
        #expect(directory.names == [] && keeper.refreshToken(for: nil) == nil)
        keeper.adopt(.expired)
        #expect(reports.all == [])
    }

    @Test("a mark of a refresh that never ended is said and counted at the next start, once") func interrupted() throws {
        let store = TokenStoreFile(path: path)
        try store.write(pair(1))
        directory.write("app.json.refreshing", "1\n")
        var settings = TokenSettings(name: "a", source: .oauth2(OAuth2Settings(tokenEndpoint: "http://127.0.0.1:1", clientID: "me")))
        settings.storeFile = path
        let loaded = try load(settings, reports)
        #expect(loaded.initial?.token.text == "a1")
        #expect(reports.all == [.storeInterrupted(path: path)])
        #expect(loaded.store.count(of: .interrupted) == 1)
        #expect(directory.names == ["app.json"])
        #expect(try load(settings).store.count(of: .interrupted) == 0)
    }
}
