// Owns the catalogue's keys of upstreams and policies.
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
    ])

    /// `field equals value`, shared by policies and logins.
    static let success = Section([
        CatalogueKey("field", .text(.path), required: true, example: "code", "path of the field that tells success"),
        CatalogueKey("equals", .scalar, required: true, example: "0", "its value on success"),
        CatalogueKey(
            "missing", .choice(SuccessRule.Missing.allCases.map(\.rawValue)), standard: "success",
            "what an answer without the field is"),
        CatalogueKey("strict", .boolean, standard: "false", "on: \"0\" is not 0"),
    ])

    static let messagePathsStandard = ["message", "msg", "error", "reason", "detail"]
    static let codePathStandard = "code"
    static let dataPathStandard = "data"

    private static let policyStandards = PolicySettings(name: "")
    private static let failure = Section([
        CatalogueKey(
            "status", .integer(failureStatuses), standard: "\(policyStandards.failureStatus)",
            "HTTP status of a business failure"),
        CatalogueKey(
            "codes", .map(keys: .code, values: .integer(failureStatuses)), standard: "{}", example: "{ \"10001\": 401 }",
            "business code to HTTP status, where it differs"),
        CatalogueKey(
            "session_expired", .list(.text(.code)), standard: "[]", example: "[10001]", "business codes that end the session"),
    ])

    private static let errorBody = Section([
        CatalogueKey(
            "message", .list(.text(.path)), standard: "[]", example: "[message]",
            "paths of the message in the body of a non-2xx answer; none: the texts of the failure table"),
        CatalogueKey("fallback", .text(.any), example: "客户端错误", "message of a 4xx whose body tells none"),
    ])

    static let policy = Section([
        CatalogueKey("success", .section(success), "absent: every 2xx answer is a success"),
        CatalogueKey(
            "message", .list(.text(.path)), standard: flow(messagePathsStandard), "paths of the message, the first that has text wins"),
        CatalogueKey("code", .text(.path), standard: codePathStandard, "path of the business code"),
        CatalogueKey("data", .text(.path), example: "data", "path of the payload; data when reply is data"),
        CatalogueKey(
            "reply", .choice(PolicySettings.View.allCases.map(\.rawValue)), standard: policyStandards.view.rawValue,
            "complete: the answer as it came; data: its payload only; raw: not judged"),
        CatalogueKey(
            "non_json", .choice(PolicySettings.OddBody.allCases.map(\.rawValue)), standard: policyStandards.nonJSON.rawValue,
            "a 2xx body that is no JSON"),
        CatalogueKey(
            "empty", .choice(PolicySettings.OddBody.allCases.map(\.rawValue)), standard: policyStandards.empty.rawValue,
            "a 2xx answer without body"),
        CatalogueKey(
            "oversize", .choice(PolicySettings.OddBody.allCases.map(\.rawValue)), standard: policyStandards.oversize.rawValue,
            "a body longer than max_body_bytes"),
        CatalogueKey(
            "max_body_bytes", .integer(1...67_108_864), standard: "\(policyStandards.bodyBytesMax)", units: "bytes",
            "bodies up to this size are judged"),
        CatalogueKey("failure", .section(failure), "what a business failure becomes"),
        CatalogueKey("error_body", .section(errorBody), "what the bodies of non-2xx answers tell"),
        hooks,
    ])
}
