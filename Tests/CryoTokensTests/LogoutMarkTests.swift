// A logout outlives a restart: `initial` is not used again until it changes.
// Domain: cold

import CryoPipeline
import Testing

@testable import CryoTokens

@Suite struct LogoutMarkTests {
    private let directory = TemporaryDirectory()

    private func settings(_ token: String?, _ refreshToken: String?) -> TokenSettings {
        var settings = TokenSettings(name: "a", source: .oauth2(OAuth2Settings(tokenEndpoint: "http://127.0.0.1:1", clientID: "me")))
        settings.initialToken = token.map { .literal(Secret($0)) }
        settings.initialRefreshToken = refreshToken.map { .literal(Secret($0)) }
        settings.storeFile = directory.file("app.json")
        return settings
    }

    @Test("after a logout and a restart the same initial is not used; another one is") func restart() throws {
        let first = try load(settings("first-token", "first-refresh"))
        #expect(first.initial?.token.text == "first-token")
        first.adopt?(.loggedOut)
        let text = directory.read("app.json") ?? ""
        #expect(directory.mode("app.json") == 0o600 && !text.holds("first-token") && !text.holds("first-refresh"))
        let reports = Reports()
        let second = try load(settings("first-token", "first-refresh"), reports)
        #expect(second.initial == nil && reports.all == [.storeLoggedOut(path: directory.file("app.json"))])
        for (token, refreshToken) in [("first-token", "other"), ("other", "first-refresh"), ("first-token", nil)] as [(String, String?)] {
            #expect(try load(settings(token, refreshToken)).initial?.token.text == token)
        }
    }

    @Test("after a logout nothing is presented that initial holds") func nothingPresented() async throws {
        try load(settings("first-token", "first-refresh")).adopt?(.loggedOut)
        let source = try load(settings("first-token", "first-refresh"))
        var refreshing = settings("first-token", "first-refresh")
        var oauth2 = OAuth2Settings(tokenEndpoint: "http://127.0.0.1:1", clientID: "me")
        oauth2.grantType = .refreshToken
        refreshing.source = .oauth2(oauth2)
        #expect(text(of: await refresh(try load(refreshing).refresher)) == "unchanged")
        #expect(source.store.status.trouble == nil)
    }

    @Test("a login takes the mark away, and an expiry leaves none") func login() throws {
        let source = try load(settings("first-token", nil))
        source.adopt?(.loggedOut)
        source.adopt?(.login(NewCredential(token: Secret("second-token"))))
        #expect(try load(settings("first-token", nil)).initial?.token.text == "second-token")
        source.adopt?(.expired)
        #expect(directory.names.isEmpty)
        #expect(try load(settings("first-token", nil)).initial?.token.text == "first-token")
    }

    @Test(
        "a mark that is none is kept aside",
        arguments: [
            #"{"version":1,"logged_out":{"salt":"00","initial":"00"}}"#, #"{"version":1,"logged_out":true}"#,
            #"{"version":1,"logged_out":{"salt":"zz","initial":"é"}}"#, #"{"version":2,"logged_out":{"salt":"00","initial":"00"}}"#,
        ])
    func corrupt(content: String) throws {
        directory.write("app.json", content)
        #expect(try load(settings("first-token", nil)).initial?.token.text == "first-token")
        #expect(directory.names == ["app.json.corrupt"])
    }

    @Test("marks are salted, and no two pairs look alike") func digests() {
        let pair = InitialPair(token: Secret("ab"), refreshToken: Secret("c"))
        let mark = LogoutMark(of: pair)
        #expect(mark.isOf(pair) && mark != LogoutMark(of: pair) && LogoutMark(salt: mark.saltText, digest: mark.digestText) == mark)
        for (token, refreshToken) in [("a", "bc"), ("abc", ""), ("ab", nil), (nil, "abc")] as [(String?, String?)] {
            #expect(!mark.isOf(InitialPair(token: token.map { Secret($0) }, refreshToken: refreshToken.map { Secret($0) })))
        }
    }
}
