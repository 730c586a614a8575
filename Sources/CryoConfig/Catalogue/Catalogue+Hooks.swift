// Owns the catalogue's keys of hooks.
// Domain: pure

import CryoPipeline

extension Catalogue {
    private static let webhook = Section([
        CatalogueKey("url", .text(.callURL), required: true, example: "https://ops.example.com/cryonet", "gets a POST of the event's JSON"),
        CatalogueKey(
            "secret", .text(.secret), example: "env:HOOK_SECRET",
            "signs: CryoNet-Signature: t=SECONDS,v1=HMAC-SHA256 in hex of SECONDS, a full stop and the body"),
        CatalogueKey(
            "headers", .map(keys: .header, values: .text(.headerValue)), standard: "{}", example: "{ X-Team: payments }",
            "sent along"),
        CatalogueKey("ca", .text(.file), example: "/etc/cryonet/ca.pem", "PEM certificates to trust instead of the system's"),
    ])

    private static let timeout: UInt32 = HookSettings(target: .command([])).timeoutMilliseconds
    private static let hook = Section(
        [
            CatalogueKey(
                "events", .list(.choice(HookSettings.Event.allCases.map(\.rawValue))),
                standard: flow(HookSettings.Event.allCases.map(\.rawValue)),
                "failure: an exchange failed; session_expired: a login ended, told once"),
            CatalogueKey("webhook", .section(webhook), "who is told: an HTTP endpoint"),
            CatalogueKey(
                "command", .list(.text(.any)), example: "[/usr/local/bin/on-failure, --verbose]",
                "who is told: a program without a shell, with the event's JSON on its standard input"),
            CatalogueKey(
                "timeout_ms", .integer(milliseconds), standard: "\(timeout)", units: "milliseconds", "bound of telling one event"),
        ], exactlyOne: ["webhook", "command"])

    static let hooks = CatalogueKey(
        "hooks", .list(.section(hook)), "who outside is told of failures and ended logins; never delays or changes a reply")
}
