// The signature base against RFC 9421's own examples, and what each attempt signs.
// Domain: worker

import CryoHTTP
import CryoJSON
import CryoSync
import Testing

@testable import CryoPipeline

@Suite("message signatures") struct MessageSignatureTests {
    /// The request of RFC 9421 B.2, without what no example covers.
    private func example(_ change: (inout SignSettings) -> Void) -> MessageSignature {
        var settings = SignSettings(key: .literal(Secret("unused")))
        settings.components = []
        change(&settings)
        return MessageSignature(
            method: Array("POST".utf8), isTLS: true, authority: Array("example.com".utf8),
            target: Array("/foo?param=Value&Pet=dog".utf8),
            fields: section([
                ("Host", "example.com"), ("Date", "Tue, 20 Apr 2021 02:07:55 GMT"), ("Content-Type", "application/json"),
                ("Content-Digest", "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"),
                ("Content-Length", "18"),
            ]), settings: settings, created: 1_618_884_473, nonce: nil)
    }

    @Test("RFC 9421 B.2.5: the base that hmac-sha256 signs")
    func hmacExample() {
        let (base, parameters) = example {
            $0.components = ["date", "@authority", "content-type"]
            $0.keyID = "test-shared-secret"
        }.base()
        #expect(
            text(base) == """
                "date": Tue, 20 Apr 2021 02:07:55 GMT
                "@authority": example.com
                "content-type": application/json
                "@signature-params": ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"
                """)
        #expect(text(parameters) == #"("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret""#)
    }

    @Test("RFC 9421 B.2.6: derived components and fields in the order of the list")
    func orderExample() {
        let (base, _) = example {
            $0.components = ["date", "@method", "@path", "@authority", "content-type", "content-length"]
            $0.keyID = "test-key-ed25519"
        }.base()
        #expect(
            text(base) == """
                "date": Tue, 20 Apr 2021 02:07:55 GMT
                "@method": POST
                "@path": /foo
                "@authority": example.com
                "content-type": application/json
                "content-length": 18
                "@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"
                """)
    }

    @Test("RFC 9421 §2.2: every derived component of a request")
    func derivedComponents() {
        let (base, _) = example { $0.components = SignSettings.derived }.base()
        #expect(
            text(base)?.split(separator: "\n").dropLast().map(String.init) == [
                #""@method": POST"#, #""@target-uri": https://example.com/foo?param=Value&Pet=dog"#, #""@authority": example.com"#,
                #""@scheme": https"#, #""@request-target": /foo?param=Value&Pet=dog"#, #""@path": /foo"#,
                #""@query": ?param=Value&Pet=dog"#,
            ])
        var bare = example { $0.components = ["@path", "@query"] }
        bare.target = []
        #expect(text(bare.base().base)?.hasPrefix("\"@path\": /\n\"@query\": ?\n") == true)
        bare.target = Array("/x?".utf8)
        #expect(text(bare.base().base)?.contains("\"@query\": ?\n") == true)
    }

    @Test("RFC 9421 §2.1: lines of one field are joined, without the space around each; a field that is not there is left out")
    func fields() {
        var signature = example { $0.components = ["cache-control", "x-empty", "missing", "cache-control"] }
        signature.fields = section([
            ("Cache-Control", "max-age=60"), ("X-Empty", ""), ("CACHE-CONTROL", "  must-revalidate\t"), ("Cache-Control", " a,  b "),
        ])
        #expect(
            text(signature.base().base) == """
                "cache-control": max-age=60, must-revalidate, a,  b
                "x-empty":\u{20}
                "@signature-params": ("cache-control" "x-empty");created=1618884473
                """)
    }

    @Test("every parameter, in order; quotes and backslashes are escaped")
    func parameters() {
        var signature = example {
            $0.components = ["@method"]
            $0.expiresSeconds = 300
            $0.keyID = #"a"b\c"#
            $0.tellsAlgorithm = true
            $0.tag = "t"
        }
        signature.nonce = Array("bm9uY2U=".utf8)
        #expect(
            text(signature.base().parameters)
                == #"("@method");created=1618884473;expires=1618884773;nonce="bm9uY2U=";keyid="a\"b\\c";alg="hmac-sha256";tag="t""#)
    }
}

@Suite("exchange: signing") struct ExchangeSigningTests {
    /// Stands for the library: the "code" is the base, the "digest" the bytes, so that a test reads what was signed.
    private func bench(
        isBroken: Bool = false, _ change: (inout SignSettings) -> Void = { _ in }, route: (inout RouteSettings) -> Void = { _ in }
    ) -> Bench {
        var settings = SignSettings(key: .literal(Secret("unused")))
        settings.keyID = "k"
        change(&settings)
        let signer = RequestSigner(
            settings, authenticate: { isBroken ? nil : $0 },
            beginDigest: {
                final class Bytes { var all: [UInt8] = [] }
                let bytes = Bytes()
                return DigestStream(update: { bytes.all.append(contentsOf: $0) }, finish: { isBroken ? nil : bytes.all })
            })
        return Bench(route: route, signer: signer)
    }

    private func field(_ bench: Bench, _ attempt: Int, _ name: String) -> [String] {
        bench.fields(attempt).filter { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
    }

    private func base64(_ text: String) -> String {
        String(decoding: Array(text.utf8).withUnsafeBytes { Base64.encode($0) }, as: UTF8.self)
    }

    @Test("each attempt is signed over its own token and its own time")
    func afresh() {
        let bench = bench { $0.components = ["@method", "@path", "authorization"] }
        bench.begin(requestHead("/a/b?c=d"))
        bench.answer(401)
        bench.scheduler.unixMicroseconds += 5_000_000
        bench.endRefresh(.renewed(NewCredential(token: Secret("token-two"))))
        #expect(bench.forwarder.attempts.count == 2)
        for (attempt, token, created) in [(0, "one", 1_700_000_000), (1, "two", 1_700_000_005)] {
            let parameters = "(\"@method\" \"@path\" \"authorization\");created=\(created);keyid=\"k\""
            #expect(field(bench, attempt, "Signature-Input") == ["cryonet=" + parameters])
            let base = "\"@method\": GET\n\"@path\": /a/b\n\"authorization\": Bearer token-\(token)\n\"@signature-params\": " + parameters
            #expect(field(bench, attempt, "Signature") == ["cryonet=:" + base64(base) + ":"])
        }
        bench.answer(200)
        #expect(bench.audit.lines.last?.contains(#""signed":true"#) == true)
    }

    @Test("what the client says about signatures and digests is not passed on")
    func clientFields() {
        let bench = bench { $0.coversBody = true }
        bench.begin(
            requestHead(
                method: "POST", ["Content-Length: 2", "Signature: a=:YQ==:", "Signature-Input: a=()", "Content-Digest: sha-256=:YQ==:"]),
            body: Array("hi".utf8))
        #expect(field(bench, 0, "Signature").count == 1 && field(bench, 0, "Signature-Input").count == 1)
        #expect(field(bench, 0, "Content-Digest") == ["sha-256=:" + base64("hi") + ":"])
        #expect(field(bench, 0, "Signature-Input")[0].hasPrefix(#"cryonet=("@method" "@authority" "@path" "@query" "content-digest");"#))
    }

    @Test("with the body covered nothing goes out before it is whole, and the client is not held up")
    func waitsForTheBody() {
        let bench = bench { $0.coversBody = true }
        let size = 600 << 10
        bench.begin(requestHead(method: "POST", ["Content-Length: \(size)", "Expect: 100-continue"]), isComplete: false)
        #expect(bench.sink.continues == 1)
        for _ in 0..<size / 1024 { #expect(bench.send([UInt8](repeating: 7, count: 1024)) == .more) }
        #expect(bench.forwarder.attempts.isEmpty)
        bench.exchange?.receiveBodyEnd()
        #expect(bench.forwarder.attempts.count == 1 && bench.readBody(0).count == size)
        #expect(field(bench, 0, "Content-Digest").count == 1)
    }

    @Test("a body that came while a token was awaited, and paused the client, goes on")
    func resumesTheClient() {
        let bench = Bench(
            token: nil,
            signer: RequestSigner(
                {
                    var settings = SignSettings(key: .literal(Secret("unused")))
                    settings.coversBody = true
                    return settings
                }(), authenticate: { $0 }, beginDigest: { DigestStream(update: { _ in }, finish: { [1] }) }))
        let size = 300 << 10
        bench.begin(requestHead(method: "POST", ["Content-Length: \(size + 1)"]), isComplete: false)
        #expect(bench.send([UInt8](repeating: 7, count: size)) == .pause)
        bench.endRefresh(.renewed(NewCredential(token: Secret("token-two"))))
        #expect(bench.sink.resumes == 1 && bench.forwarder.attempts.isEmpty)
        bench.send([8])
        bench.exchange?.receiveBodyEnd()
        #expect(bench.forwarder.attempts.count == 1 && bench.readBody(0).count == size + 1)
    }

    @Test("a body that is too large to be kept is refused, announced or not")
    func tooLarge() {
        let announced = bench { $0.coversBody = true }
        announced.begin(requestHead(method: "POST", ["Content-Length: \((8 << 20) + 1)"]), isComplete: false)
        #expect(announced.sink.status == 413 && lines(announced.sink.fields).contains("CryoNet-Failure: http/body_not_signable"))
        #expect(announced.audit.lines.last?.contains(#""inject":"not_signed""#) == true)
        let streamed = bench { $0.coversBody = true }
        streamed.begin(requestHead(method: "POST", ["Transfer-Encoding: chunked"]), isComplete: false)
        for _ in 0..<9 { streamed.send([UInt8](repeating: 7, count: 1 << 20)) }
        #expect(streamed.sink.status == 413 && streamed.forwarder.attempts.isEmpty)
        let exact = bench { $0.coversBody = true }
        exact.begin(requestHead(method: "POST", ["Transfer-Encoding: chunked"]), isComplete: false)
        for _ in 0..<8 { exact.send([UInt8](repeating: 7, count: 1 << 20)) }
        exact.exchange?.receiveBodyEnd()
        #expect(exact.forwarder.attempts.count == 1)
    }

    @Test("requests without a body have no digest; without body: true a body streams as ever")
    func withoutDigest() {
        let get = bench { $0.coversBody = true }
        get.begin(requestHead())
        #expect(field(get, 0, "Content-Digest") == [] && field(get, 0, "Signature").count == 1)
        let post = bench()
        post.begin(requestHead(method: "POST", ["Content-Length: 5"]), isComplete: false)
        #expect(post.forwarder.attempts.count == 1 && field(post, 0, "Content-Digest") == [])
    }

    @Test("a request that can't be signed is not sent")
    func broken() {
        for body in [nil, Array("x".utf8)] as [[UInt8]?] {
            let bench = bench(isBroken: true) { $0.coversBody = true }
            bench.begin(requestHead(method: "POST", ["Content-Length: \(body?.count ?? 0)"]), body: body)
            #expect(bench.sink.status == 500 && bench.forwarder.attempts.isEmpty)
            #expect(lines(bench.sink.fields).contains("CryoNet-Failure: unknown/internal_error"))
        }
    }

    @Test("a nonce differs from attempt to attempt as chance does")
    func nonce() {
        let bench = bench {
            $0.hasNonce = true
        } route: {
            $0.retry.limit = 1
            $0.retry.jitter = .none
        }
        bench.begin(requestHead())
        bench.answer(503)
        bench.scheduler.chance = 9
        bench.advance(milliseconds: 500)
        let (first, second) = (field(bench, 0, "Signature-Input"), field(bench, 1, "Signature-Input"))
        #expect(first.count == 1 && second.count == 1 && first != second && first[0].contains(#"nonce="AAAA"#))
    }
}
