/** Package registries for a directory's files. */

interface Ecosystem {
  /** Files that identify it. */
  manifests: readonly string[];
  /** Default hosts of its package managers. */
  hosts: readonly string[];
}

/** By registry. */
const ECOSYSTEMS: Readonly<Record<string, Ecosystem>> = {
  npm: {
    manifests: ["package.json", "deno.json", "deno.jsonc"],
    hosts: ["registry.npmjs.org", "registry.yarnpkg.com"],
  },
  deno: {
    manifests: ["deno.json", "deno.jsonc"],
    hosts: ["jsr.io", "npm.jsr.io", "deno.land"],
  },
  pypi: {
    manifests: ["pyproject.toml", "requirements.txt", "setup.py", "setup.cfg", "Pipfile"],
    hosts: ["pypi.org", "files.pythonhosted.org"],
  },
  crates: {
    manifests: ["Cargo.toml"],
    hosts: ["index.crates.io", "static.crates.io", "crates.io"],
  },
  go: {
    manifests: ["go.mod"],
    hosts: ["proxy.golang.org", "sum.golang.org"],
  },
  rubygems: {
    manifests: ["Gemfile"],
    hosts: ["rubygems.org", "index.rubygems.org"],
  },
  maven: {
    manifests: [
      ...["pom.xml", "build.gradle", "build.gradle.kts"],
      ...["settings.gradle", "settings.gradle.kts"],
    ],
    hosts: [
      ...["repo.maven.apache.org", "repo1.maven.org"],
      // The first of each leads to the second.
      ...["plugins.gradle.org", "plugins-artifacts.gradle.org"],
      ...["services.gradle.org", "downloads.gradle.org"],
    ],
  },
};

/** Hosts of a directory's registries. @param isThere whether the directory has a file */
export async function registryHosts(
  isThere: (name: string) => Promise<boolean>,
): Promise<string[]> {
  const found = await Promise.all(
    Object.values(ECOSYSTEMS).map(async ({ manifests, hosts }) => {
      const there = await Promise.all(manifests.map(isThere));
      return there.includes(true) ? hosts : [];
    }),
  );
  return found.flat();
}
