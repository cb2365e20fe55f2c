#!/usr/bin/env python3
"""Writes tests/golden/chat/chat.json: the results of apply_chat_template of the pinned Transformers for a few
conversations with the templates of that folder.

    build/peers/bin/python tools/goldens/chat_make.py tests/golden/chat"""
import glob
import json
import os
import sys

import transformers
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

TOOLS = [{"type": "function", "function": {"name": "weather", "description": "How it is outside: \"now\".",
          "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}},
         {"type": "function", "function": {"name": "zeit", "description": "Wie spät?", "parameters": {}}}]
USER = {"role": "user", "content": "  Who looks at whom? "}
HELPER = {"role": "assistant", "content": "Each token at all before it.\n"}
SYSTEM = {"role": "system", "content": "Be kind; größer <|im_end|>."}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {
    "name": "weather", "arguments": {"city": "Zürich", "days": 2, "exact": 0.5}}}]}
RESULT = {"role": "tool", "content": "{\"sun\": true}"}
NAMED = {"role": "assistant", "content": "", "tool_calls": [
    {"type": "function", "id": "a1B2c3D4e", "function": {"name": "weather", "arguments": {"city": "Zürich"}}},
    {"type": "function", "id": "f5G6h7I8j", "function": {"name": "zeit", "arguments": {}}}]}
RESULTS = [{"role": "tool", "tool_call_id": "a1B2c3D4e", "content": "{\"sun\": true}"},
           {"role": "tool_results", "tool_call_id": "f5G6h7I8j", "content": {"content": 12.5}}]
CHATS = {
    "one": [USER], "two": [USER, HELPER], "three": [USER, HELPER, {"role": "user", "content": "你好 👋"}],
    "system": [SYSTEM, USER], "system three": [SYSTEM, USER, HELPER, USER],
    "odd": [HELPER, USER], "call": [USER, CALL, RESULT, HELPER],
    "call by name": [SYSTEM, USER, NAMED, *RESULTS, HELPER, USER],
}


def main():
    folder = sys.argv[1]
    t = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"<s>": 0, "</s>": 1}, unk_token="<s>")),
                                bos_token="<s>", eos_token="</s>")
    cases = []
    for path in sorted(glob.glob(os.path.join(folder, "*.jinja"))):
        with open(path, encoding="utf-8", newline="") as f:
            text = f.read()
        for name, messages in CHATS.items():
            if name == "call by name" and "tool_call_id" not in text:
                continue
            for tools in (None, TOOLS):
                for prompt in (False, True):
                    try:
                        want = {"text": t.apply_chat_template(messages, chat_template=text, tools=tools, tokenize=False,
                                                              add_generation_prompt=prompt)}
                    except Exception as error:  # raised by the template, or an error in it
                        want = {"raises": str(error)}
                    case = {"template": os.path.basename(path), "messages": name, "tools": tools is not None,
                            "prompt": prompt, **want}
                    if os.path.basename(path) != "language.jinja" or (name == "one" and prompt and not tools):
                        cases.append(case)
    out = {"made by": "transformers " + transformers.__version__, "chats": CHATS, "tools": TOOLS, "cases": cases}
    with open(os.path.join(folder, "chat.json"), "w", encoding="utf-8") as f:
        json.dump(out, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
