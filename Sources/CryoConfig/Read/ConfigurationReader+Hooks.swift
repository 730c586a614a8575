// Owns building hooks.
// Domain: cold

import CryoPipeline

extension ConfigurationReader {
    mutating func hooks(_ node: YAMLNode?, at path: String) -> [HookSettings] {
        (node?.items ?? []).enumerated().compactMap { index, item in hook(item, at: "\(path)[\(index)]") }
    }

    private mutating func hook(_ node: YAMLNode, at path: String) -> HookSettings? {
        guard let target = webhook(node["webhook"], at: "\(path).webhook") ?? command(node["command"], at: "\(path).command") else {
            return nil
        }
        var settings = HookSettings(target: target)
        if let events = node["events"] { settings.events = texts(events).compactMap { HookSettings.Event(rawValue: $0) } }
        if let events = node["events"], case .sequence(let items) = events.content, items.isEmpty {
            note(events, "\(path).events: needs at least one event")
        }
        assign(node["timeout_ms"], to: &settings.timeoutMilliseconds)
        return settings
    }

    private mutating func webhook(_ node: YAMLNode?, at path: String) -> HookSettings.Target? {
        guard let node else { return nil }
        let secret = self.secret(node["secret"], at: "\(path).secret")
        let headers = self.headers(node["headers"], at: "\(path).headers")
        guard let url = node["url"]?.text else { return nil }
        if isClearText(url) { warn(node["url"], "\(path).url: http sends failures in clear text") }
        var webhook = HookSettings.Webhook(url: url)
        webhook.secret = secret
        webhook.headers = headers
        webhook.caFile = node["ca"]?.text
        return .webhook(webhook)
    }

    private mutating func command(_ node: YAMLNode?, at path: String) -> HookSettings.Target? {
        guard let node else { return nil }
        let arguments = texts(node)
        if case .sequence = node.content, arguments.first?.isEmpty ?? true { note(node, "\(path): names no program") }
        return .command(arguments)
    }
}
