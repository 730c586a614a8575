// Owns the catalogue's keys of upstreams, and of a login's success.
// Domain: pure

import CryoPipeline

extension Catalogue {
    private static let timeoutStandards = UpstreamTimeouts()
    private static let timeouts = Section([
        CatalogueKey(
            "connect_ms", .integer(milliseconds), standard: "\(timeoutStandards.connectMilliseconds)", units: "milliseconds",
            "name lookup, TCP and TLS"),
        CatalogueKey(
            "response_ms", .integer(milliseconds), standard: "\(timeoutStandards.responseMilliseconds)", units: "milliseconds",
            "from the start of an attempt to the response head"),
        CatalogueKey(
            "idle_ms", .integer(milliseconds), standard: "\(timeoutStandards.idleMilliseconds)", units: "milliseconds",
            "between two reads of a response body"),
        CatalogueKey(
            "total_ms", .integer(millisecondsOrNone), standard: "\(timeoutStandards.totalMilliseconds)", units: "milliseconds",
            "the whole exchange with refresh and retries, streams exempt; 0: none"),
        CatalogueKey(
            "tunnel_idle_ms", .integer(milliseconds), standard: "\(timeoutStandards.tunnelIdleMilliseconds)", units: "milliseconds",
            "without a byte in either direction of a WebSocket"),
    ])

    private static let upstreamTLS = Section([
        CatalogueKey(
            "pins", .list(.text(.pin)), standard: "[]", example: "[sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=]",
            "public keys one of which the upstream must have"),
        CatalogueKey("ca", .text(.file), example: "/etc/cryonet/ca.pem", "PEM certificates to trust instead of the system's"),
        CatalogueKey("client_certificate", .text(.file), example: "/etc/cryonet/client.pem", "PEM certificate to show the upstream"),
        CatalogueKey("client_key", .text(.file), example: "/etc/cryonet/client.key", "PEM key of client_certificate"),
        CatalogueKey(
            "unsafe_skip_verify", .boolean, standard: "false", "accepts any certificate: whoever answers gets the token"),
    ])

    static let upstream = Section([
        CatalogueKey(
            "url", .text(.upstreamURL), required: true, example: "https://api.example.com",
            "scheme, host, port, and a path to put in front of every request's"),
        CatalogueKey(
            "headers", .map(keys: .header, values: .text(.headerValue)), standard: "{}", example: "{ X-App-Version: \"1.0\" }",
            "set where the client's request does not have them"),
        CatalogueKey("timeouts", .section(timeouts), "bounds of waiting for this upstream"),
        CatalogueKey("tls", .section(upstreamTLS), "how https is verified"),
        CatalogueKey("http2", .boolean, standard: "true", "HTTP/2 where the upstream offers it"),
        CatalogueKey("breaker", .section(breaker), "leaves an upstream alone that keeps failing; absent: none"),
        CatalogueKey("sign", .section(sign), "signs every request by RFC 9421; absent: none is signed"),
    ])
}
