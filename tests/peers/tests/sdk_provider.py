"""A provider on the published Python SDK."""
import hashlib
import sys

from contextgraph_sdk import budget_tokens, run_stdio_provider


class Provider:
    def __init__(self, correlates):
        self.correlates = correlates

    def info(self):
        return {"name": "sdk", "version": "1",
                "data_flow": {"reads": True, "writes": False, "egress": False,
                              "egress_scopes": ["local-only"]}}

    def capabilities(self):
        return {"query": {"kinds": ["doc"]}, "correlation": self.correlates, "verify": True}

    def query(self, query):
        content = "answer to " + query["goal"]
        digest = "sha256:" + hashlib.sha256(content.encode()).hexdigest()
        return {"frames": [{"id": "f", "kind": "doc", "title": "T", "content": content,
                            "content_digest": digest, "score": 0.5,
                            "token_cost": budget_tokens(content), "citation_label": "c",
                            "relations": []}],
                "truncated": False}


run_stdio_provider(Provider(sys.argv[1] == "correlates"))
