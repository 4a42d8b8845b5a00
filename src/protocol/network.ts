/** What a session's commands reach of the network; by default, what daemon.toml says. */
export const NETWORKS = ["off", "allowed", "on"] as const;

export type Network = typeof NETWORKS[number];
