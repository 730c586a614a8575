import CryoJSON
import CryoPipeline
import Glibc
import Testing

@testable import CryoTokens

@Suite struct OAuth2GrantTests {
    private let directory = TemporaryDirectory()

    private func password(_ endpoint: LoopbackEndpoint) -> OAuth2Settings {
        var oauth2 = OAuth2Settings(tokenEndpoint: endpoint.url, clientID: "me")
        oauth2.grantType = .password
        oauth2.username = "al ice"
        oauth2.password = .literal(Secret("p&w"))
        return oauth2
    }

    private func load(_ oauth2: OAuth2Settings) throws -> LoadedTokenSource {
        var settings = TokenSettings(name: "app", source: .oauth2(oauth2))
        settings.refresh.timeoutMilliseconds = 5000
        return try CryoTokensTests.load(settings)
    }

    @Test("password: a login, then refreshes with its refresh token, and a login again once that is refused") func passwordGrant()
        async throws
    {
        let endpoint = LoopbackEndpoint(
            answer(200, #"{"access_token":"a1","refresh_token":"r1"}"#), answer(200, #"{"access_token":"a2","refresh_token":"r2"}"#),
            answer(400, #"{"error":"invalid_grant"}"#), answer(200, #"{"access_token":"a3"}"#), answer(200, #"{"access_token":"a4"}"#))
        defer { endpoint.stop() }
        let source = try load(password(endpoint))
        #expect(source.refresher.canIssue)
        #expect(text(of: await refresh(source.refresher)) == "renewed a1 r1")
        #expect(text(of: await refresh(source.refresher, credential("a1", refreshToken: "r1"))) == "renewed a2 r2")
        #expect(text(of: await refresh(source.refresher, credential("a2", refreshToken: "r2"))) == "renewed a3 -")
        #expect(text(of: await refresh(source.refresher, credential("a3", refreshToken: "r2"))) == "renewed a4 -")
        let login = "grant_type=password&username=al+ice&password=p%26w&client_id=me"
        #expect(
            endpoint.requests.map(\.body) == [
                login, "grant_type=refresh_token&refresh_token=r1&client_id=me", "grant_type=refresh_token&refresh_token=r2&client_id=me",
                login, login,
            ])
    }

    @Test("a refused client is not asked for a login: it would be refused there too") func refusedClient() async throws {
        let endpoint = LoopbackEndpoint(answer(401, #"{"error":"invalid_client"}"#))
        defer { endpoint.stop() }
        let source = try load(password(endpoint))
        let told = text(of: await refresh(source.refresher, credential("a1", refreshToken: "r1")))
        #expect(told == "rejected: the token endpoint answered invalid_client (invalid_client)")
        #expect(endpoint.requests.count == 1)
    }

    @Test("resources, further parameters and headers are sent, with secrets from elsewhere; what is empty is not") func parameters()
        async throws
    {
        let endpoint = LoopbackEndpoint(answer(200, #"{"access_token":"a1"}"#))
        defer { endpoint.stop() }
        var oauth2 = OAuth2Settings(tokenEndpoint: endpoint.url, clientID: "me")
        oauth2.clientSecret = .literal(Secret("s"))
        oauth2.authMethod = .post
        oauth2.scopes = []
        oauth2.audience = ""
        oauth2.resources = ["https://a/1", "https://b"]
        oauth2.endpointParameters = [(name: "pin code", value: "file:\(directory.write("pin", "1&2\n"))")]
        oauth2.tokenHeaders = [(name: "X-Device", value: "d1")]
        #expect(text(of: await refresh(try load(oauth2).refresher)) == "renewed a1 -")
        #expect(
            endpoint.requests[0].body == "grant_type=client_credentials&resource=https%3A%2F%2Fa%2F1&resource=https%3A%2F%2Fb"
                + "&pin+code=1%262&client_id=me&client_secret=s")
        #expect(endpoint.requests[0].header("X-Device") == "d1")
    }

    // MARK: private_key_jwt

    private func openssl(_ arguments: String...) -> CommandRun.Report {
        CommandRun(command: ["openssl"] + arguments, environment: [(name: "PATH", value: "/usr/bin:/bin")], timeoutMilliseconds: 20_000)
            .run()
    }

    /// A key pair of files `key` and `key.pub`.
    private func makeKey(_ arguments: [String]) -> String {
        let key = directory.file("key")
        let path = ["openssl", "genpkey", "-out", key] + arguments
        _ = CommandRun(command: path, environment: [(name: "PATH", value: "/usr/bin:/bin")], timeoutMilliseconds: 20_000).run()
        _ = openssl("pkey", "-in", key, "-pubout", "-out", key + ".pub")
        return key
    }

    /// Two numbers side by side as the DER that OpenSSL's command reads.
    private func der(_ signature: [UInt8]) -> [UInt8] {
        func number(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        let both = number(signature[..<32]) + number(signature[32...])
        return [0x30, UInt8(both.count)] + both
    }

    @Test(
        "private_key_jwt: the assertion says who, to whom and until when, and its signature is good",
        arguments: [
            (["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "RS256"),
            (["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], "ES256"),
        ])
    func assertion(arguments: [String], algorithm: String) async throws {
        let endpoint = LoopbackEndpoint(answer(200, #"{"access_token":"a1"}"#))
        defer { endpoint.stop() }
        let key = makeKey(arguments)
        var oauth2 = OAuth2Settings(tokenEndpoint: endpoint.url, clientID: "me")
        oauth2.authMethod = .privateKeyJWT
        oauth2.privateKey = .file(path: key)
        oauth2.keyID = "k1"
        let source = try load(oauth2)
        let begun = Int64(time(nil))
        #expect(text(of: await refresh(source.refresher)) == "renewed a1 -")
        #expect(text(of: await refresh(source.refresher)) == "renewed a1 -")
        let ended = Int64(time(nil))
        let bodies = endpoint.requests.map(\.body)
        let prefix =
            "grant_type=client_credentials&client_id=me&client_assertion_type="
            + "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion="
        #expect(bodies.allSatisfy { $0.hasPrefix(prefix) } && endpoint.requests[0].header("Authorization") == nil)
        #expect(bodies[0] != bodies[1], "each assertion has a name of its own")
        let parts = bodies[0].dropFirst(prefix.count).split(separator: ".")
        let header = String(decoding: try #require(Base64URL.decode(parts[0].utf8)), as: UTF8.self)
        #expect(header == #"{"alg":"\#(algorithm)","typ":"JWT","kid":"k1"}"#)
        let claims = try #require(Base64URL.decode(parts[1].utf8))
        let members = try #require(JSONMembers(claims, names: ["iss", "sub", "aud", "iat", "exp"]))
        #expect(members.code(0) == "me" && members.code(1) == "me" && members.code(2) == endpoint.url)
        // On either side of the call, with a second for the rounding of two clocks.
        #expect((begun - 1...ended + 1).contains(members.integer(3) ?? 0))
        #expect((members.integer(4) ?? 0) - (members.integer(3) ?? 0) == 120)
        let signature = try #require(Base64URL.decode(parts[2].utf8))
        let signed = directory.write("signed", "\(parts[0]).\(parts[1])")
        writeBytes("signature", algorithm == "ES256" ? der(signature) : signature)
        let verdict = openssl("dgst", "-sha256", "-verify", key + ".pub", "-signature", directory.file("signature"), signed)
        #expect(String(decoding: verdict.output, as: UTF8.self) == "Verified OK\n")
    }

    private func writeBytes(_ name: String, _ bytes: [UInt8]) {
        guard let stream = fopen(directory.file(name), "w") else { return }
        fwrite(bytes, 1, bytes.count, stream)
        fclose(stream)
    }

    @Test(
        "a key that can't sign fails the refresh by name, and nothing is sent",
        arguments: [
            [], ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"], ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
            ["-algorithm", "ED25519"], ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes256", "-pass", "pass:x"],
        ])
    func unusableKeys(arguments: [String]) async throws {
        let endpoint = LoopbackEndpoint(answer(200, #"{"access_token":"a1"}"#))
        defer { endpoint.stop() }
        let key = arguments.isEmpty ? directory.write("key", "-----BEGIN PRIVATE KEY-----\nnonsense\n") : makeKey(arguments)
        var oauth2 = OAuth2Settings(tokenEndpoint: endpoint.url, clientID: "me")
        oauth2.authMethod = .privateKeyJWT
        oauth2.privateKey = .file(path: key)
        let source = try load(oauth2)
        guard case .failed = await refresh(source.refresher) else {
            Issue.record("did not fail")
            return
        }
        #expect(source.counters.count(of: .keyUnusable) == 1 && endpoint.requests.isEmpty)
    }
}
