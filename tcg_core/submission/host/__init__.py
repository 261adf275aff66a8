"""Agents in processes of their own: other modules, environment, directory, memory and time than ours."""
