/** The part of `@std/semver` that is used here. */
export interface SemVer {
  major: number;
  minor: number;
  patch: number;
}
export function tryParse(value: string): SemVer | undefined;
export function compare(version1: SemVer, version2: SemVer): 1 | 0 | -1;
