// Sets options of an easy handle and remembers whether libcurl took them all.
// Domain: worker | cold

import CCurl

/// libcurl copies what it is given and may be out of memory for it. A handle that lacks an option must not be used: without its pins,
/// its CA, its headers or its method it would do something else than was asked for.
struct EasyOptions {
    private let easy: UnsafeMutableRawPointer?
    /// The first refusal; CURLE_OK when there was none.
    private(set) var code: CURLcode

    init(_ easy: UnsafeMutableRawPointer?) {
        self.easy = easy
        code = easy == nil ? CURLE_FAILED_INIT : CURLE_OK
    }

    var areSet: Bool { code == CURLE_OK }

    mutating func set(_ option: CURLoption, _ value: Int) { note(cryo_easy_long(easy, option, value)) }

    mutating func set(_ option: CURLoption, offset value: Int64) { note(cryo_easy_offset(easy, option, curl_off_t(value))) }

    mutating func set(_ option: CURLoption, _ value: String) { note(cryo_easy_string(easy, option, value)) }

    /// Back to none, also where libcurl has a default.
    mutating func unset(_ option: CURLoption) { note(cryo_easy_string(easy, option, nil)) }

    mutating func set(_ option: CURLoption, bytes value: UnsafePointer<CChar>?) { note(cryo_easy_string(easy, option, value)) }

    mutating func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer) { note(cryo_easy_pointer(easy, option, value)) }

    mutating func set(_ option: CURLoption, list value: UnsafeMutablePointer<curl_slist>?) { note(cryo_easy_list(easy, option, value)) }

    mutating func set(_ option: CURLoption, callback value: cryo_curl_data_callback) {
        note(cryo_easy_data_callback(easy, option, value))
    }

    mutating func note(_ new: CURLcode) { if code == CURLE_OK { code = new } }
}
