import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

// The same projects that the compiler builds: each file is linted with the globals of the place it runs in.
const PROJECTS = [
  "packages/*/tsconfig.json",
  "packages/*/tsconfig.test.json",
  "apps/*/tsconfig.json",
  "apps/*/tsconfig.worker.json",
  "e2e/tsconfig.json",
  "scripts/tsconfig.json",
];

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
    languageOptions: { parserOptions: { project: PROJECTS, tsconfigRootDir: import.meta.dirname } },
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
    ],
    rules: { "no-console": "off" },
  },
);
