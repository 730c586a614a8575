// Records for the tests, as the gateway writes them.
// Domain: cold

import CryoRecord

enum RecordFixture {
    static let plain = #"""
        {"time":"2026-11-30T07:00:00.123456Z","id":"01JDX0000000000000000000A1","request_id":"req-7","client":"127.0.0.1:5000","route":"news","upstream":"api","method":"GET","target":"/news/list?page=2&q=a%20b","steps":{"accept":"accepted","read":"parsed","route":"matched","inject":"injected","forward":"responded","refresh":"led","retry":"not_needed","normalize":"business_rejected","reply":"sent","audit":"written"},"attempts":[{"number":1,"start_us":40,"duration_us":900,"status":401,"outcome":"responded","token_version":1,"reused":false,"dns_us":100,"connect_us":200,"tls_us":500,"first_byte_us":800},{"number":2,"start_us":1000,"duration_us":2000,"status":200,"outcome":"responded","token_version":2,"reused":true,"dns_us":0,"connect_us":0,"tls_us":0,"first_byte_us":1500}],"status":422,"request_bytes":0,"response_bytes":345,"duration_us":3456,"session":"9b1c","failure":{"reason":"business_rejected","kind":"business","step":"normalize","detail":"余额 \"不足\""},"business_code":40013,"request_headers":[["Host","api.local:8080"],["Accept","application/json"],["Authorization","***"]],"response_headers":[["Content-Type","application/json"]],"response_body":"{\"code\":40013,\"msg\":\"余额不足\"}"}
        """#

    static func record(_ line: String) -> RecordView? { RecordView(Array(line.utf8)) }

    /// A record of the least members, and what is laid over them.
    static func line(_ members: String = "") -> String {
        #"{"time":"2026-11-30T07:00:00.000001Z","id":"01J"\#(members.isEmpty ? "" : "," + members)}"#
    }
}
