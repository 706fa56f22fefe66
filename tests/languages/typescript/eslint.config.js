// What generated code and its runtime pass: the strict rules of typescript-eslint, with types.
import tseslint from "typescript-eslint";

export default tseslint.config(tseslint.configs.strictTypeChecked, {
  languageOptions: { parserOptions: { project: "./tsconfig.json" } },
});
