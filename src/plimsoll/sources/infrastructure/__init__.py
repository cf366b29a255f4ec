"""Which databases does an infrastructure file declare: a Terraform plan, or a CloudFormation template?"""
