// The JSON Schemas (2020-12, as OpenAPI 3.1 has them) of what the admin side takes and gives.
// Domain: pure

enum AdminSchemas {
    static let all: [(name: String, text: String)] = [
        ("Failure", failure), ("Health", health), ("Token", token), ("TokenList", list("tokens", "Token")),
        ("Session", session), ("SessionList", list("sessions", "Session")), ("Login", login), ("SessionLogin", sessionLogin),
        ("Logout", logout), ("Upstream", upstream), ("UpstreamList", list("upstreams", "Upstream")),
        ("Exchange", exchange), ("ExchangeList", list("exchanges", "Exchange")),
        ("Replay", replay), ("ReplayAnswer", replayAnswer), ("Archive", #"{"type":"object","required":["log"]}"#),
        ("Reloaded", reloaded),
        ("Draining", word("draining")), ("Description", #"{"type":"object"}"#),
    ]

    private static func list(_ member: String, _ item: String) -> String {
        """
        {"type":"object","required":["\(member)"],"properties":{"\(member)":{"type":"array","items":{"$ref":"#/components/schemas/\(item)"}}}}
        """
    }

    private static func word(_ name: String) -> String {
        #"{"type":"object","required":["\#(name)"],"properties":{"\#(name)":{"const":true}}}"#
    }

    private static let failure = """
        {"type":"object","description":"RFC 9457, with the members of every failure of the gateway",
        "required":["type","title","status","detail","kind","message","reason","step","origin","retryable","code","requestId"],
        "properties":{"type":{"type":"string"},"title":{"type":"string"},"status":{"type":"integer"},"detail":{"type":"string"},
        "instance":{"type":"string"},"kind":{"type":"string"},"message":{"type":"string"},"reason":{"type":"string"},
        "step":{"type":"string"},"origin":{"enum":["client","gateway","upstream"]},"retryable":{"type":"boolean"},
        "code":{"type":"integer"},"requestId":{"type":"string"},
        "problems":{"type":"array","items":{"type":"string"},"description":"what is wrong with a configuration, as FILE:LINE:COLUMN: TEXT"}}}
        """

    private static let reloaded = """
        {"type":"object","required":["reloaded","needsRestart"],"properties":{"reloaded":{"const":true},
        "needsRestart":{"type":"array","items":{"type":"string"},"description":"what has changed and stays as it was until a restart"}}}
        """

    /// What every audit record has; more may be there.
    private static let exchange = """
        {"type":"object","required":["time","id","client","route","upstream","method","target","steps","attempts","status"],
        "properties":{"time":{"type":"string","format":"date-time"},"id":{"type":"string"},"client":{"type":"string"},
        "route":{"type":["string","null"]},"upstream":{"type":["string","null"]},"method":{"type":["string","null"]},
        "target":{"type":["string","null"]},"steps":{"type":"object","additionalProperties":{"type":"string"}},
        "attempts":{"type":"array","items":{"type":"object"}},"status":{"type":"integer"},
        "failure":{"type":["object","null"]}}}
        """

    private static let pairs = """
        {"type":"array","items":{"type":"array","items":{"type":"string"},"minItems":2,"maxItems":2}}
        """

    private static let replay = """
        {"type":"object","properties":{"method":{"type":["string","null"]},"target":{"type":["string","null"]},
        "headers":{"anyOf":[\(pairs),{"type":"null"}]},"body":{"type":["string","null"]}}}
        """

    private static let replayAnswer = """
        {"type":"object","required":["id","status","duration_us","headers","body","truncated"],"properties":{"id":{"type":"string"},
        "status":{"type":"integer"},"duration_us":{"type":"integer"},"headers":\(pairs),"body":{"type":"string"},
        "truncated":{"type":"boolean"}}}
        """

    private static let health = """
        {"type":"object","required":["status","checks"],"properties":{"status":{"enum":["ok","failing"]},
        "checks":{"type":"object","additionalProperties":{"enum":["ok","failing"]}}}}
        """

    private static let state = """
        "name":{"type":"string"},"state":{"enum":["authenticated","loggingOut","unauthenticated"]},
        "revision":{"type":"string","format":"uuid"}
        """

    private static let token = """
        {"type":"object","required":["name","source","state","version","fingerprint","expiresAt","refreshAt","changedAt","canRefresh",
        "hasRefreshToken","refreshes","asked","store","routes","session"],"properties":{"name":{"type":"string"},"source":{"type":"string"},
        "state":{"enum":["valid","expired","missing"]},"version":{"type":["integer","null"]},"fingerprint":{"type":["string","null"]},
        "expiresAt":{"type":["string","null"],"format":"date-time"},
        "refreshAt":{"type":["string","null"],"format":"date-time"},"changedAt":{"type":["string","null"],"format":"date-time"},
        "canRefresh":{"type":"boolean"},"hasRefreshToken":{"type":"boolean"},
        "refreshes":{"type":"object","additionalProperties":{"type":"integer"}},
        "asked":{"type":"object","additionalProperties":{"type":"integer"}},
        "store":{"type":"object","required":["kind","place","trouble","events"],"properties":{"kind":{"enum":["memory","file","redis"]},
        "place":{"type":["string","null"]},"trouble":{"type":["string","null"]},
        "events":{"type":"object","additionalProperties":{"type":"integer"}}}},"routes":{"type":"array","items":{"type":"string"}},
        "session":{"type":"object","required":["name","state","revision"],"properties":{\(state)}}}}
        """

    private static let session = """
        {"type":"object","required":["name","state","revision","tokens","events"],"properties":{\(state),
        "tokens":{"type":"array","items":{"type":"string"}},
        "events":{"type":"object","additionalProperties":{"type":"integer"}}}}
        """

    private static let upstream = """
        {"type":"object","required":["name","url","breaker"],"properties":{"name":{"type":"string"},"url":{"type":"string"},
        "breaker":{"type":["object","null"],"required":["state","attempts","failures","retryAfterMs","opened","refused"],"properties":{
        "state":{"enum":["closed","open","half_open"]},"attempts":{"type":"integer"},"failures":{"type":"integer"},
        "retryAfterMs":{"type":["integer","null"]},"opened":{"type":"integer"},"refused":{"type":"integer"}}}}}
        """

    private static let loginMembers = """
        "token":{"type":"string","minLength":1},"refresh_token":{"type":["string","null"],"minLength":1},
        "expires_in":{"type":["integer","null"],"minimum":1,"maximum":315360000}
        """

    private static let login = #"{"type":"object","required":["token"],"properties":{\#(loginMembers)}}"#

    private static let sessionLogin = """
        {"type":"object","description":"the members of Login, or tokens by name where the session holds several",
        "properties":{\(loginMembers),"tokens":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/Login"}}}}
        """

    private static let logout = #"{"type":"object","properties":{"revision":{"type":["string","null"],"format":"uuid"}}}"#
}
