// Names in camelCase: which change, which stay, and that nothing else does.
// Domain: cold

import CryoJSON
import Testing

private func camelCased(_ text: String) -> String {
    String(decoding: Array(text.utf8).withUnsafeBytes { JSONKeyCase.camelCased($0) }, as: UTF8.self)
}

@Suite("Names in camelCase")
struct JSONKeyCaseTests {
    @Test(
        "are those of Swift's convertFromSnakeCase",
        arguments: [
            ("user_name", "userName"), ("user_ID", "userId"), ("URL_path", "urlPath"), ("a__b", "aB"), ("_id", "_id"), ("id_", "id_"),
            ("__user_name__", "__userName__"), ("userName", "userName"), ("USER", "USER"), ("", ""), ("_", "_"), ("a_1", "a1"),
            ("名_字", "名字"), ("é_é", "éé"),
        ])
    func names(_ snake: String, _ camel: String) {
        #expect(camelCased("{\"\(snake)\":1}") == "{\"\(camel)\":1}")
    }

    @Test("at every depth, and nothing but names changes")
    func depth() {
        #expect(
            camelCased(#"[ {"a_b" : "c_d", "e_f":{ "g_h":[{"i_j":"\"k_l\":"}, "m_n" , 1.0e2]}} ,"o_p"]"#)
                == #"[ {"aB" : "c_d", "eF":{ "gH":[{"iJ":"\"k_l\":"}, "m_n" , 1.0e2]}} ,"o_p"]"#)
        for text in ["7", #""a_b""#, "[]", "{}", "null", #"["a_b",":"]"#, #"{"a\u005fb":1}"#, #"{"a_\n":1}"#, #"{"a\\":{"b\"":2}}"#] {
            #expect(camelCased(text) == text)
        }
    }
}
