// A login from outside and the refreshes around it: which pair is kept, which is thrown away.
// Domain: cold

import CryoPipeline
import CryoSync
import Testing

@testable import CryoTokens

@Suite struct AdoptedLoginTests {
    private func pair(_ token: String, _ refreshToken: String?) -> NewCredential {
        NewCredential(token: Secret(token), refreshToken: refreshToken.map { Secret($0) })
    }

    private func presents(_ keeper: PairKeeper, _ expected: String) -> Bool {
        keeper.refreshToken(for: nil)?.matches(Secret(expected)) ?? false
    }

    @Test("A login is on the disk when adopt returns, and its refresh token is the next one presented")
    func login() {
        let directory = TemporaryDirectory()
        let keeper = PairKeeper(store: TokenStoreFile(path: directory.file("app.json")), refreshToken: Secret("r1"), report: { _ in })
        keeper.adopt(.login(pair("a2", "r2")))
        #expect(directory.read("app.json")?.contains("\"a2\"") == true && directory.mode("app.json") == 0o600)
        #expect(presents(keeper, "r2"))
    }

    @Test("A refresh that began before a login, and ends after it, changes neither the disk nor what is presented next")
    func lateRefresh() {
        let directory = TemporaryDirectory()
        let keeper = PairKeeper(store: TokenStoreFile(path: directory.file("app.json")), refreshToken: Secret("r1"), report: { _ in })
        let presented = keeper.refreshToken(for: nil)
        keeper.adopt(.login(pair("a2", "r2")))
        _ = keeper.keep(pair("a1-late", "r1-late"), presented: presented)
        #expect(directory.read("app.json")?.contains("\"r2\"") == true)
        #expect(presents(keeper, "r2"))
        // The login's own refreshes rotate as ever.
        _ = keeper.keep(pair("a3", "r3"), presented: keeper.refreshToken(for: nil))
        #expect(directory.read("app.json")?.contains("\"r3\"") == true && presents(keeper, "r3"))
    }

    @Test("A first login by itself that began before a login from outside, or a logout, does not take its place on the disk")
    func lateSignIn() {
        let directory = TemporaryDirectory()
        let keeper = PairKeeper(store: TokenStoreFile(path: directory.file("app.json")), refreshToken: nil, report: { _ in })
        let before = keeper.adoptions
        keeper.adopt(.login(pair("a2", "r2")))
        _ = keeper.keep(pair("a1-late", "r1-late"), presented: nil, since: before)
        #expect(directory.read("app.json")?.contains("\"r2\"") == true && presents(keeper, "r2"))
        let later = keeper.adoptions
        keeper.adopt(.loggedOut)
        _ = keeper.keep(pair("a3-late", "r3-late"), presented: nil, since: later)
        #expect(directory.read("app.json")?.contains("logged_out") == true && keeper.refreshToken(for: nil) == nil)
        _ = keeper.keep(pair("a4", "r4"), presented: nil, since: keeper.adoptions)
        #expect(directory.read("app.json")?.contains("\"r4\"") == true && presents(keeper, "r4"))
    }

    @Test("A logout takes the pair from the disk, and a refresh that ends after it does not bring it back")
    func logout() {
        let directory = TemporaryDirectory()
        let keeper = PairKeeper(store: TokenStoreFile(path: directory.file("app.json")), refreshToken: Secret("r1"), report: { _ in })
        let presented = keeper.refreshToken(for: nil)
        _ = keeper.keep(pair("a2", "r2"), presented: presented)
        let second = keeper.refreshToken(for: nil)
        keeper.adopt(.loggedOut)
        let mark = directory.read("app.json") ?? ""
        #expect(mark.contains("\"logged_out\"") && !mark.contains("\"a2\"") && !mark.contains("\"r2\""))
        #expect(keeper.refreshToken(for: nil) == nil)
        _ = keeper.keep(pair("a3", "r3"), presented: second)
        #expect(directory.read("app.json") == mark && keeper.refreshToken(for: nil) == nil)
        keeper.adopt(.loggedOut)
        #expect(directory.names == ["app.json"], "forgetting twice is no fault")
    }

    @Test("A login that can't be written is told, and counts all the same")
    func unwritable() {
        let told = Atomic<Int>(0)
        let keeper = PairKeeper(
            store: TokenStoreFile(path: "/nonexistent/app.json"), refreshToken: nil, report: { _ in told.add(1, ordering: .relaxed) })
        keeper.adopt(.login(pair("a1", "r1")))
        #expect(told.load(ordering: .relaxed) == 1 && presents(keeper, "r1"))
    }
}
