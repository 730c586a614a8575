// Owns building what a route says about streams.
// Domain: cold

import CryoPipeline

extension ConfigurationReader {
    mutating func streams(_ node: YAMLNode?, at path: String) -> StreamSettings {
        var settings = StreamSettings()
        assign(node?["idle_ms"], to: &settings.idleMilliseconds)
        assign(node?["heartbeat_ms"], to: &settings.heartbeatMilliseconds)
        choose(node?["on_loss"], &settings.onLoss)
        let reconnect = node?["reconnect"]
        assign(reconnect?["limit"], to: &settings.reconnect.limit)
        assign(reconnect?["delay_ms"], to: &settings.reconnect.delayMilliseconds)
        assign(reconnect?["total_ms"], to: &settings.reconnect.totalMilliseconds)
        if settings.heartbeatMilliseconds >= settings.idleMilliseconds {
            warn(node?["heartbeat_ms"], "\(path).heartbeat_ms: not less than idle_ms: no heartbeat comes before the stream is given up")
        }
        return settings
    }
}
