// The catalogue of well-known envelopes: what success, message, code and payload are in each, with example bodies (ledger X8).
// Domain: pure

package import CryoJSON

/// An envelope by name. `Envelopes.md` shows every one with its examples; a test judges them and compares the page.
package struct EnvelopePreset: Sendable {
    package let name: String
    /// One line, without a full stop.
    package let meaning: String
    package let success: SuccessPredicate
    package let messagePaths: [JSONPath]
    package let codePath: JSONPath
    package let dataPath: JSONPath
    /// A body that is a success, one that is a failure, and what is taken from that.
    package let examples: (success: String, failure: String, code: String?, message: String)

    package static func named(_ name: String) -> EnvelopePreset? { all.first { $0.name == name } }

    package static let all: [EnvelopePreset] = [
        preset(
            "code0_msg_data", "code is 0 or absent; text in msg", .equals(path("code"), .number("0")),
            ["msg", "message", "error", "reason", "detail"],
            (#"{"code":0,"msg":"ok","data":{"id":7}}"#, #"{"code":40013,"msg":"余额不足","data":null}"#, "40013", "余额不足")),
        preset(
            "code200_msg_data", "code is 200; text in msg", .equals(path("code"), .number("200"), missing: .failure),
            ["msg", "message", "error", "reason", "detail"],
            (#"{"code":200,"msg":"操作成功","data":[1,2]}"#, #"{"code":500,"msg":"系统异常"}"#, "500", "系统异常")),
        preset(
            "code0_message_data", "code is 0 or absent; text in message", .equals(path("code"), .number("0")),
            ["message", "msg", "error", "reason", "detail"],
            (
                #"{"code":0,"message":"success","data":{"id":7}}"#, #"{"code":10001,"message":"login expired"}"#, "10001", "login expired"
            )),
        preset(
            "retCode", "retCode is 0 or absent; text in retMsg", .equals(path("retCode"), .number("0")),
            ["retMsg", "message", "msg", "error", "reason", "detail"], code: "retCode",
            (#"{"retCode":0,"retMsg":"OK","data":{"id":7}}"#, #"{"retCode":4000,"retMsg":"參數錯誤"}"#, "4000", "參數錯誤")),
        preset(
            "status_ok", "status is ok, OK or success; text in message",
            .test(
                SuccessTest(
                    path: path("status"), condition: .oneOf(["ok", "OK", "success"].map { .string(Array($0.utf8)) }), missing: .failure,
                    isStrict: true)),
            ["message", "msg", "error", "reason", "detail"],
            (
                #"{"status":"ok","data":{"id":7}}"#, #"{"status":"error","code":"E_QUOTA","message":"quota used up"}"#, #""E_QUOTA""#,
                "quota used up"
            )),
        preset(
            "success_true", "success is true; text in message", .equals(path("success"), .bool(true), missing: .failure),
            ["message", "msg", "error", "reason", "detail"],
            (
                #"{"success":true,"data":{"id":7}}"#, #"{"success":false,"code":1204,"message":"no such order"}"#, "1204", "no such order"
            )),
    ]

    private static func preset(
        _ name: String, _ meaning: String, _ success: SuccessPredicate, _ messages: [String], code: String = "code",
        _ examples: (success: String, failure: String, code: String?, message: String)
    ) -> EnvelopePreset {
        EnvelopePreset(
            name: name, meaning: meaning, success: success, messagePaths: messages.map(path), codePath: path(code),
            dataPath: path("data"), examples: examples)
    }

    /// A name without dots is always a path.
    private static func path(_ name: String) -> JSONPath { JSONPath(name) ?? .root }
}
