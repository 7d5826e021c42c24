import { readdirSync } from "node:fs";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

// Each file is linted in the project that the compiler builds it in, with the globals of the place it runs in. The programs
// of other projects contain it as well, where it is imported, with other globals.
const PROJECTS = {
  "packages/*/": ["tsconfig.json", "tsconfig.test.json"],
  "apps/playground/": ["tsconfig.json", "tsconfig.worker.json"],
  "e2e/": ["tsconfig.json"],
  "scripts/": ["tsconfig.json"],
  "conformance/": ["tsconfig.json"],
};
const PACKAGES = readdirSync(new URL("packages", import.meta.url));

function projectsOf([folder, files]) {
  const folders = folder.includes("*") ? PACKAGES.map((name) => folder.replace("*", name)) : [folder];
  return folders.map((place) => ({
    files: [`${place}**/*.ts`, `${place}**/*.tsx`],
    languageOptions: {
      parserOptions: { project: files.map((file) => place + file), tsconfigRootDir: import.meta.dirname },
    },
  }));
}

export default defineConfig(
  {
    ignores: [
      "**/dist/",
      "**/.tsbuild/",
      "**/node_modules/",
      "**/gen/",
      "**/*.mjs",
      "test-results/",
      "public/",
      ".cache/",
    ],
  },
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [tseslint.configs.strictTypeChecked],
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ],
      // `Record<never, never>` says "offers nothing" in the contracts; that is what it is for.
      "@typescript-eslint/no-generated-empty-object-type": "off",
      "no-console": "error",
    },
  },
  Object.entries(PROJECTS).flatMap(projectsOf),
  {
    files: ["*.config.ts"],
    languageOptions: {
      parserOptions: { project: ["scripts/tsconfig.json"], tsconfigRootDir: import.meta.dirname },
    },
  },
  {
    // Ambient globals are declared with `var`: that is how they become properties of the global object.
    files: ["**/*.d.ts"],
    rules: { "no-var": "off" },
  },
  {
    // Matchers such as `expect.any` are typed `any` by the test runners.
    files: ["**/*.test.ts", "**/*.spec.ts", "**/*.contract.ts"],
    rules: { "@typescript-eslint/no-unsafe-assignment": "off" },
  },
  {
    // Command-line programs talk on the terminal; the browser's console is one sink of the log.
    files: [
      "scripts/**",
      "e2e/**",
      "packages/naiad/src/command/**",
      "packages/*/scripts/**",
      "packages/*/bench/**",
      "conformance/src/oracle/record.ts",
    ],
    rules: { "no-console": "off" },
  },
);
