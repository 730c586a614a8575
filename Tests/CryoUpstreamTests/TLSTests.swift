// Attempts over TLS: what is trusted and what is not.
// Domain: cold

import CryoHTTP
import CryoPipeline
import CryoTestSupport
import CryoUpstream
import Testing

@Suite(.serialized) struct TLSTests {
    private func run(_ attempts: Attempts, _ server: TLSServer, _ change: (inout UpstreamTLS) -> Void) -> Recorder {
        var settings = upstream(server.port, isTLS: true)
        settings.usesHTTP2 = false
        change(&settings.tls)
        return attempts.run(request(settings, "GET", "/"))
    }

    @Test("a certificate is trusted through the named file only, or when told to skip", arguments: Way.allCases)
    func trust(_ way: Way) throws {
        let server = try #require(TLSServer())
        defer { server.stop() }
        let attempts = try Attempts(way)
        #expect(run(attempts, server) { $0.caFile = server.caFile }.head?.status == 200)
        // The verified connection is not lent to a stricter or laxer upstream.
        #expect(run(attempts, server) { _ in }.error == .tlsCertificate)
        #expect(run(attempts, server) { $0.skipsVerification = true }.head?.status == 200)
        #expect(run(attempts, server) { _ in }.error == .tlsCertificate)
        #expect(run(attempts, server) { $0.caFile = "/nonexistent.pem" }.error == .tlsCertificate)
        attempts.close()
    }

    @Test("of several pins one must match, also when verification is skipped", arguments: Way.allCases)
    func pins(_ way: Way) throws {
        let server = try #require(TLSServer())
        defer { server.stop() }
        let attempts = try Attempts(way)
        let other = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        #expect(
            run(attempts, server) {
                $0.caFile = server.caFile
                $0.pins = [other, server.pin]
            }.head?.status == 200)
        #expect(
            run(attempts, server) {
                $0.caFile = server.caFile
                $0.pins = [other]
            }.error == .pinMismatch)
        #expect(
            run(attempts, server) {
                $0.skipsVerification = true
                $0.pins = [other]
            }.error == .pinMismatch)
        attempts.close()
    }
}
