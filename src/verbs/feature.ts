import { bind, type BoundVerb, type VerbOf } from "./define.ts";

/** The services of a feature's verbs, created for one daemon. */
export interface Opened<S> {
  readonly services: S;
  /** Ends what the feature has opened, after the sessions have stopped. */
  stop?(): Promise<void> | undefined;
}

/** A feature whose verbs are bound to their services. */
export interface OpenFeature extends Omit<Opened<unknown>, "services"> {
  readonly name: string;
  readonly bound: readonly BoundVerb[];
}

/** A feature: its verbs, and how it gets their services from its host, the daemon. */
export interface Feature<H, V> {
  readonly verbs: readonly V[];
  /** Binds the verbs; what takes time or memory is opened on first use. */
  readonly open: (host: H) => OpenFeature;
}

/** Defines a feature; its name is for the log. */
export function feature<V extends VerbOf<never>, S, H>(
  name: string,
  verbs: readonly V[] & readonly VerbOf<S>[],
  open: (host: H) => Opened<S>,
): Feature<H, V> {
  return {
    verbs,
    open(host) {
      const { services, ...rest } = open(host);
      return { name, bound: bind<S>(verbs, services), ...rest };
    },
  };
}

/** Opens features, in order. */
export function openFeatures<H>(features: readonly Feature<H, unknown>[], host: H): OpenFeature[] {
  return features.map(({ open }) => open(host));
}
