// The client of the library: one configuration, and requests made by it.
// Domain: cold

/// The seeds' client. Each request runs through the gateway's pipeline inside this process: the token is injected, refreshed once for
/// everybody who waits, the request sent again, and every cause of a failure told as one `CryoFailure`.
///
/// Immutable and safe to share. Clients that were given the same token manager share its refreshes; all clients of a process share
/// one worker and its pool of connections. Redirects are not followed: a 3xx is an HTTP failure (source: seed README, 快速开始).
public final class CryoNet: Sendable {
    private let configuration: CryoNetConfiguration
    private let caller: Caller

    /// Makes a client. `configure` is called once, at once, on a configuration with the default values.
    public init(_ configure: (inout CryoNetConfiguration) -> Void) {
        var configuration = CryoNetConfiguration()
        configure(&configuration)
        self.configuration = configuration
        caller = Caller(configuration: configuration)
    }

    /// The configuration as it was when the client was made. It holds the token manager, never a copy of the token.
    public func getConfiguration() -> CryoNetConfiguration { configuration }

    /// Describes one request. Nothing is sent before a response method of the result is called.
    ///
    /// - Parameters:
    ///   - model: what to request. An URL that can't be requested fails with kind `unknown` and nothing is sent.
    ///   - parameters: encoded as `model.encoding` says: strings, numbers, booleans, nested arrays and dictionaries of them, `Encodable`.
    ///   - headers: set over the configuration's `basicHeaders`, compared without case, the last one wins. `Host` and the framing
    ///     fields are the pipeline's to say and left out; `Authorization` is replaced while there is a token.
    ///   - interceptor: used instead of the configuration's, not beside it.
    public func request(
        _ model: RequestModel, parameters: [String: any Sendable]? = nil, headers: [HTTPHeader] = [],
        interceptor: (any RequestInterceptorProtocol)? = nil
    ) -> CryoResult {
        let interceptor = interceptor ?? configuration.interceptor
        let prepared = RequestBuilder(configuration: configuration).request(model, parameters: parameters, headers: headers)
        let caller = caller
        return CryoResult(interceptor: interceptor) { await caller.run(prepared, interceptor: interceptor) }
    }
}
