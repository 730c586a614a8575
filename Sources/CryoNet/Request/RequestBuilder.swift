// Makes a request of a model, its parameters and the configuration (ledger §A to §C).
// Domain: pure

import Foundation

struct RequestBuilder {
    let configuration: CryoNetConfiguration

    /// The request, or why there is none.
    func request(_ model: RequestModel, parameters: [String: any Sendable]?, headers: [HTTPHeader]) -> Result<CryoRequest, RequestFlaw> {
        var merged: [HTTPHeader] = []
        for header in configuration.basicHeaders + headers { merged.set(header) }
        let timeout = model.overtime > 0 ? model.overtime : configuration.defaultTimeout
        var request = CryoRequest(
            url: URL(string: urlText(model)), httpMethod: model.method.rawValue, headers: merged, timeoutInterval: timeout)
        do {
            try model.encoding.encode(parameters, into: &request)
        } catch {
            return .failure(RequestFlaw(error: error as? CryoError ?? CryoError(.requestNotAdapted, underlying: error), request: request))
        }
        return .success(request)
    }

    private func urlText(_ model: RequestModel) -> String {
        guard model.applyBasicURL, !configuration.baseURL.isEmpty else { return model.path }
        let base = configuration.baseURL
        if model.path.isEmpty { return base }
        switch (base.hasSuffix("/"), model.path.hasPrefix("/")) {
        case (true, true): return base + model.path.dropFirst()
        case (false, false): return model.path.hasPrefix("?") ? base + model.path : base + "/" + model.path
        default: return base + model.path
        }
    }
}

/// A request that can't be made.
struct RequestFlaw: Error {
    let error: CryoError
    let request: CryoRequest
}
