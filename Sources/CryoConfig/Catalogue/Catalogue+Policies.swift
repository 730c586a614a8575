// Owns the catalogue's keys of policies.
// Domain: pure

import CryoPipeline

extension Catalogue {
    static let presetNames = EnvelopePreset.all.map(\.name)

    /// When an answer is a success. Conditions within are conditions again (`Shape.condition`).
    static let condition = Section(
        [
            CatalogueKey("field", .text(.path), example: "code", "path of the member to look at: data.code or /data/code"),
            CatalogueKey("equals", .scalar, example: "0", "its value on success: text, number, true, false or null"),
            CatalogueKey("in", .list(.scalar), example: "[0, 200]", "its values on success"),
            CatalogueKey("range", .section(range), "numbers that are a success, both ends included"),
            CatalogueKey("exists", .boolean, example: "true", "whether it is there on success, null included"),
            CatalogueKey(
                "truthy", .boolean, example: "true", "on success it is none of null, false, 0, \"\" and missing; false: it is one of them"),
            CatalogueKey(
                "matches", .text(.textPattern), example: "OK*", "pattern of its whole text on success: *, ?, [a-z], [!a-z], \\"),
            CatalogueKey("all", .list(.condition(names: [])), example: "[{ field: code, equals: 0 }]", "conditions that must all hold"),
            CatalogueKey("any", .list(.condition(names: [])), example: "[{ field: code, equals: 0 }]", "conditions one of which must hold"),
            CatalogueKey("not", .condition(names: []), example: "{ field: error, exists: true }", "a condition that must not hold"),
            CatalogueKey(
                "missing", .choice(SuccessTest.Missing.allCases.map(\.rawValue)), example: "success",
                "what an answer without the field is, for equals, in, range and matches; default success"),
            CatalogueKey(
                "strict", .boolean, example: "false", "on: \"0\" is not 0, and 7 has no text to match; default false"),
        ], exactlyOne: ["equals", "in", "range", "exists", "truthy", "matches", "all", "any", "not"])

    private static let range = Section([
        CatalogueKey("min", .text(.number), example: "200", "the lowest; absent: no bound"),
        CatalogueKey("max", .text(.number), example: "299", "the highest; absent: no bound"),
    ])

    static let messagePathsStandard = ["message", "msg", "error", "reason", "detail"]
    static let codePathStandard = "code"
    static let dataPathStandard = "data"

    private static let policyStandards = PolicySettings(name: "")
    private static let localizedText = Section([
        CatalogueKey("zh", .text(.any), example: "登录已过期", "in Chinese; absent: the English one"),
        CatalogueKey("en", .text(.any), example: "Session expired.", "in English; absent: the Chinese one"),
    ])

    private static let codeRule = Section([
        CatalogueKey("status", .integer(failureStatuses), example: "401", "HTTP status; default: failure.status"),
        CatalogueKey(
            "name", .text(.any), example: "TokenExpired", "codeName of the failure; where any code has one, others are UnknownError"),
        CatalogueKey(
            "message", .brief(.text(.any), localizedText), example: "登录已过期", "text in the place of the upstream's, or one for each language"
        ),
        CatalogueKey("retryable", .boolean, example: "false", "whether the same request may succeed later; default false"),
        CatalogueKey("session_expired", .boolean, example: "true", "on: the code ends the session"),
    ])

    private static let failure = Section([
        CatalogueKey(
            "status", .integer(failureStatuses), standard: "\(policyStandards.failureStatus)",
            "HTTP status of a business failure"),
        CatalogueKey(
            "mode", .choice(FailureMode.allCases.map(\.rawValue)), standard: policyStandards.failureMode.rawValue,
            "replace: failure JSON in the place of the upstream's answer; annotate: its status and body with the failure's headers"),
        CatalogueKey(
            "codes", .map(keys: .codes, values: .brief(.integer(failureStatuses), codeRule)), standard: "{}",
            example: "{ \"10001\": 401 }", "by business code, 5* all that begin so, * all others: a status, or what else they become"),
        CatalogueKey(
            "session_expired", .list(.text(.code)), standard: "[]", example: "[10001]", "business codes that end the session"),
        CatalogueKey(
            "messages", .map(keys: .failureName, values: .brief(.text(.any), localizedText)), standard: "{}",
            example: "{ \"404\": 没有这个页面 }", "texts by upstream status or failure reason, in the place of the table's"),
    ])

    private static let errorBody = Section([
        CatalogueKey(
            "message", .list(.text(.path)), standard: "[]", example: "[message]",
            "paths of the message in the body of a non-2xx answer; none: the texts of the failure table"),
        CatalogueKey("fallback", .text(.any), example: "客户端错误", "message of a 4xx whose body tells none"),
    ])

    static let policy = Section([
        CatalogueKey(
            "success", .brief(.choice(presetNames), condition), example: "code0_msg_data",
            "a preset, which also says where message, code and data are, or a condition; absent: every 2xx answer is a success"),
        // No defaults here: those of a preset are its own.
        CatalogueKey(
            "message", .list(.text(.path)), example: flow(messagePathsStandard),
            "paths of the message, the first that has text wins; default: the preset's, or [message, msg, error, reason, detail]"),
        CatalogueKey("code", .text(.path), example: codePathStandard, "path of the business code; default: the preset's, or code"),
        CatalogueKey("data", .text(.path), example: "data", "path of the payload; data when reply is data"),
        CatalogueKey(
            "reply", .choice(PolicySettings.View.allCases.map(\.rawValue)), standard: policyStandards.view.rawValue,
            "complete: the answer as it came; data: its payload only; raw: not judged"),
        CatalogueKey(
            "keys", .choice(PolicySettings.Keys.allCases.map(\.rawValue)), standard: policyStandards.keys.rawValue,
            "camel_case: user_name in the payload becomes userName; needs reply: data"),
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
            "streams", .choice(PolicySettings.Streams.allCases.map(\.rawValue)), standard: policyStandards.streams.rawValue,
            "event streams and JSON lines: pass, or hold them back until the first event is judged (2 s and 64 KiB at most)"),
        CatalogueKey(
            "max_body_bytes", .integer(1...67_108_864), standard: "\(policyStandards.bodyBytesMax)", units: "bytes",
            "bodies up to this size are judged"),
        CatalogueKey(
            "failure_format", .choice(FailureFormat.allCases.map(\.rawValue)), standard: policyStandards.failureFormat.rawValue,
            "problem: the members of RFC 9457 and ours; message: {\"message\": …} only"),
        CatalogueKey("failure", .section(failure), "what a business failure becomes"),
        CatalogueKey("error_body", .section(errorBody), "what the bodies of non-2xx answers tell"),
        hooks,
    ])
}
