// health, version: what a running gateway, or this binary, says of itself.
// Domain: cold

import CryoConfig
import CryoIO
import CryoPipeline
import Glibc

extension CommandLineInterface {
    static let healthCommand = Command(
        name: "health", summary: "ask a running gateway whether it takes requests", operands: "[URL]", operandsMax: 1,
        options: [
            Option(name: "--config", value: "FILE", help: "ask the listener of this configuration instead of a URL"),
            Option(name: "--timeout-s", value: "N", help: "how long to wait; default 3"),
            Option(name: "--client-certificate", value: "FILE", help: "PEM certificate to show a listener with client_ca"),
            Option(name: "--client-key", value: "FILE", help: "PEM key of --client-certificate"),
        ],
        examples: ["cryonet health http://127.0.0.1:8080", "cryonet health --config conf/sidecar.yaml"]
    ) { arguments throws(UsageError) in
        guard let seconds = Int(arguments.value("--timeout-s") ?? "3"), seconds > 0 else {
            throw UsageError(message: "--timeout-s needs a positive number")
        }
        var target: HealthTarget
        if let url = arguments.operands.first {
            guard let parsed = HealthTarget(url: url) else { throw UsageError(message: "\(url) is no http or https URL with a port") }
            target = parsed
        } else if let file = arguments.value("--config") {
            guard let loaded = ConfigurationFile.load(file, overrides: []) else { return ExitStatus.failed }
            target = HealthTarget(loaded.configuration.listen.address)
            target.isTLS = loaded.configuration.listen.tls != nil
        } else {
            target = HealthTarget(.tcp(host: "127.0.0.1", port: 8080))
        }
        switch (arguments.value("--client-certificate"), arguments.value("--client-key")) {
        case (nil, nil): break
        case (let certificate?, let key?): target.identity = TLSFiles(certificate: certificate, key: key)
        default: throw UsageError(message: "--client-certificate and --client-key go together")
        }
        return target.ask(seconds: seconds)
    }

    static let versionCommand = Command(
        name: "version", summary: "print the version", operands: "", operandsMax: 0, options: [], examples: []
    ) { _ throws(UsageError) in
        print("cryonet \(version)")
        return ExitStatus.done
    }
}

/// The listener to ask. The question is `OPTIONS *` (RFC 9110 §9.3.7), which no route can take away.
private struct HealthTarget {
    let host: String
    let port: UInt16
    /// The answer to the question is all that counts, not who gives it: the certificate is not verified.
    var isTLS = false
    var identity: TLSFiles?

    init(_ address: ListenSettings.Address) {
        switch address {
        case .tcp(let host, let port):
            // A wildcard address is reached on the loopback interface.
            self.host = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host
            self.port = port
        case .unix(let path):
            host = path
            port = 0
        }
    }

    init?(url: String) {
        var rest = Substring(url)
        if rest.hasPrefix("https://") {
            isTLS = true
            rest = rest.dropFirst(8)
        } else if rest.hasPrefix("http://") {
            rest = rest.dropFirst(7)
        }
        rest = rest.prefix { $0 != "/" }
        guard let colon = rest.lastIndex(of: ":"), let port = UInt16(rest[rest.index(after: colon)...]) else { return nil }
        var host = rest[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { return nil }
        self.host = String(host)
        self.port = port
    }

    func ask(seconds: Int) -> Int32 {
        let request = Array("OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        do {
            let tls = try isTLS ? TLSContext(identity: identity) : nil
            let reply = try BlockingSocket.ask(host: host, port: port, request: request, seconds: seconds, tls: tls)
            let line = String(decoding: reply.prefix { $0 != 0x0D }, as: UTF8.self)
            if line.hasPrefix("HTTP/1.1 204") {
                print("healthy")
                return ExitStatus.done
            }
            print(error: "unhealthy: \(line.isEmpty ? "no answer" : line)")
        } catch {
            print(error: "unhealthy: \(error)")
        }
        return ExitStatus.failed
    }
}
